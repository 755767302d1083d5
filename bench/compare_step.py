#!/usr/bin/env python3
"""Compares the speed of one training step with PyTorch, interleaved on one machine.

    bench/compare_step.py [--repeats 5] [--steps 10] [--threads 2]

Prints pictures per second (three batches through every source, forward and backward) of the median repeat, and the
median over the repeats of the ratio to PyTorch's channels-last and default layouts.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Server:
    """A process that times its steps on request."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self):
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def quit(self):
        self.process.stdin.write("quit\n")
        self.process.stdin.close()
        self.process.wait()


def compare(architecture, options):
    shape = [architecture, "--batch", str(options.batch), "--sources", str(options.sources), "--steps",
             str(options.steps), "--threads", str(options.threads), "--serve"]
    script = [options.python, str(ROOT / "bench/training_step.py"), *shape, "--layout"]
    servers = {
        "ours": Server([str(options.build / "bench/training_step"), architecture, str(options.batch),
                        str(options.sources), str(options.steps), str(options.threads)]),
        "channels_last": Server(script + ["channels_last"]),
        "nchw": Server(script + ["nchw"]),
    }
    seconds = {name: [] for name in servers}
    for repeat in range(options.repeats):
        for name, server in servers.items():
            seconds[name].append(server.run())
    for server in servers.values():
        server.quit()
    pictures = 3 * options.batch * options.sources
    ratio = {name: statistics.median(theirs / ours for ours, theirs in zip(seconds["ours"], seconds[name]))
             for name in ("channels_last", "nchw")}
    rates = {name: pictures / statistics.median(values) for name, values in seconds.items()}
    print(f"| {architecture} | {rates['ours']:,.0f} | {rates['channels_last']:,.0f} | {rates['nchw']:,.0f} | "
          f"{ratio['channels_last']:.2f} | {ratio['nchw']:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architectures", default="lenet,dtn")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--sources", type=int, default=2)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--python", default="/usr/bin/python3", help="interpreter with torch")
    options = parser.parse_args()
    print("| network | ours, pictures/s | PyTorch channels-last | PyTorch default | ours / channels-last | "
          "ours / default |\n|---|---:|---:|---:|---:|---:|", flush=True)
    for architecture in options.architectures.split(","):
        compare(architecture, options)


if __name__ == "__main__":
    sys.exit(main())
