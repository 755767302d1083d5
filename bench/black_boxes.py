"""Adapts sources of which only scores are given, on drawn digits.

python3 bench/black_boxes.py build/tributary /tmp/black-boxes [--pictures 1000] [--epochs 30] [--rounds 10] [--seeds 1]

Makes the five digit domains and trains one source (lenet) per domain. For each domain as the target, the four others are
sources: `scores` gives only the files that `tributary predict --scores` writes for the target's training pictures, from
which a student with random weights learns; `mixed` gives the first two as models and the other two as scores; with
`--kinds scores,mixed,models`, `models` gives all four as models. Prints the accuracy on the target's test pictures in percent: of the plain ensemble of the four
models, and of the deployed result of each. Finished steps are not repeated.
"""
import argparse
import json
import pathlib
import subprocess

DOMAINS = ['handwriting', 'postal', 'signs', 'street', 'textured']  # the order of the catalogue
KINDS = ['scores', 'mixed']


def run(*arguments):
    return subprocess.run([str(a) for a in arguments], check=True, capture_output=True, text=True).stdout


def train(options, domain, seed):
    model = options.folder / f'{domain}-{seed}.safetensors'
    data = options.folder / 'data' / domain
    if not model.exists():
        run(options.program, 'train', '--data', data / 'train', '--validation', data / 'test', '--architecture', 'lenet',
            '--epochs', options.epochs, '--name', domain, '--out', model, '--seed', seed, '--threads', options.threads)
    return model


def scores(options, domain, target, seed):
    file = options.folder / f'{domain}-on-{target}-{seed}.npz'
    if not file.exists():
        run(options.program, 'predict', train(options, domain, seed), '--data', options.folder / 'data' / target / 'train',
            '--scores', file, '--threads', options.threads)
    return f'{file}:name={domain}'


def ensemble(options, target, seed):
    file = options.folder / f'ensemble-{target}-{seed}.json'
    if not file.exists():
        models = [train(options, d, seed) for d in DOMAINS if d != target]
        file.write_text(run(options.program, 'evaluate', *models, '--data', options.folder / 'data' / target / 'test',
                            '--threads', options.threads, '--json'))
    return json.loads(file.read_text())['accuracy']


def adapt(options, kind, target, seed):
    folder = options.folder / f'run-{kind}-{target}-{seed}'
    pictures = options.folder / 'data' / target
    others = [d for d in DOMAINS if d != target]
    models = {'scores': 0, 'mixed': 2, 'models': 4}[kind]
    sources = [train(options, d, seed) if i < models else scores(options, d, target, seed) for i, d in enumerate(others)]
    if not (folder / 'summary.json').exists():
        run(options.program, 'adapt', *[a for source in sources for a in ('--source', source)], '--target',
            pictures / 'train', '--test', pictures / 'test', '--run', folder, '--rounds', options.rounds, '--seed', seed,
            '--threads', options.threads, '--no-report', *options.options)
    accuracy = json.loads((folder / 'summary.json').read_text())['accuracy']
    return accuracy.get('kept', {'accuracy': accuracy['last']})['accuracy']


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--pictures', type=int, default=1000)
    parser.add_argument('--epochs', type=int, default=30)
    parser.add_argument('--rounds', type=int, default=10)
    parser.add_argument('--seeds', type=int, default=1)
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--kinds', default=','.join(KINDS))
    parser.add_argument('options', nargs='*', help='further options of adapt, after --')
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if not (options.folder / 'data').exists():
        run(options.program, 'data', 'make', 'digits', options.folder / 'data', '--format', 'png', '--pictures',
            options.pictures, '--test-pictures', options.pictures)
    kinds = options.kinds.split(',')
    print('| target | plain ensemble |', ' | '.join(kinds), '|\n|---|' + '---:|' * (len(kinds) + 1))
    rows = []
    for target in DOMAINS:
        results = [[ensemble(options, target, seed)] + [adapt(options, kind, target, seed) for kind in kinds]
                   for seed in range(options.seeds)]
        rows.append([sum(values) / options.seeds for values in zip(*results)])
        print(f'| {target} |', ' | '.join(f'{value:.1f}' for value in rows[-1]), '|', flush=True)
    mean = [sum(values) / len(rows) for values in zip(*rows)]
    print('| mean |', ' | '.join(f'{value:.1f}' for value in mean), '|')
    print('| above the ensemble | |', ' | '.join(f'{value - mean[0]:+.1f}' for value in mean[1:]), '|')


if __name__ == '__main__':
    main()
