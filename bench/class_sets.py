"""Removes classes from every source and compares the adapted results with those of full sources, on drawn digits.

python3 bench/class_sets.py build/tributary /tmp/class-sets [--pictures 1000] [--epochs 15] [--rounds 10] [--seed 0]

Makes the five digit domains, trains one source per domain with all ten classes and one without one to three of them, and
adapts the four others to each domain, once with the full and once with the reduced sources. Prints the accuracy on the
target's test pictures in percent before and after. Finished steps are not repeated.
"""
import argparse
import json
import pathlib
import shutil
import subprocess

DOMAINS = ['handwriting', 'postal', 'signs', 'street', 'textured']
# Every class is known to at least two sources of every target.
REMOVED = {'handwriting': '012', 'postal': '23', 'signs': '4', 'street': '567', 'textured': '890'}


def run(*arguments):
    subprocess.run([str(a) for a in arguments], check=True, stdout=subprocess.DEVNULL)


def make_data(options):
    full = options.folder / 'full'
    if not full.exists():
        run(options.program, 'data', 'make', 'digits', full, '--format', 'png', '--pictures', options.pictures,
            '--test-pictures', options.pictures, '--seed', options.seed)
    for domain in DOMAINS:
        part = options.folder / 'part' / domain
        if part.exists():
            continue
        shutil.copytree(full / domain, part)
        for split in ('train', 'test'):
            for digit in REMOVED[domain]:
                shutil.rmtree(part / split / digit)


def train(options, kind, domain):
    model = options.folder / kind / f'{domain}.safetensors'
    data = options.folder / kind / domain
    if not model.exists():
        run(options.program, 'train', '--data', data / 'train', '--validation', data / 'test', '--architecture',
            'lenet', '--epochs', options.epochs, '--name', domain, '--out', model, '--seed', options.seed, '--threads',
            options.threads)
    return model


def adapt(options, kind, target):
    folder = options.folder / f'run-{kind}-{target}'
    pictures = options.folder / 'full' / target
    sources = [a for d in DOMAINS if d != target for a in ('--source', train(options, kind, d))]
    if not (folder / 'summary.json').exists():
        run(options.program, 'adapt', *sources, '--target', pictures / 'train', '--test', pictures / 'test', '--run',
            folder, '--rounds', options.rounds, '--seed', options.seed, '--threads', options.threads)
    accuracy = json.loads((folder / 'summary.json').read_text())['accuracy']
    return accuracy['rounds'][0], accuracy.get('kept', {'accuracy': accuracy['last']})['accuracy']


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--pictures', type=int, default=1000)
    parser.add_argument('--epochs', type=int, default=15)
    parser.add_argument('--rounds', type=int, default=10)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--threads', type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    make_data(options)
    print('| target | full: before | full: adapted | reduced: before | reduced: adapted |\n|---|---:|---:|---:|---:|')
    rows = []
    for target in DOMAINS:
        rows.append(adapt(options, 'full', target) + adapt(options, 'part', target))
        print(f'| {target} |', ' | '.join(f'{value:.1f}' for value in rows[-1]), '|', flush=True)
    mean = [sum(row[i] for row in rows) / len(rows) for i in range(4)]
    print('| mean |', ' | '.join(f'{value:.1f}' for value in mean), '|')
    print(f'\nreduced minus full after adaptation: {mean[3] - mean[1]:.1f} points')


if __name__ == '__main__':
    main()
