#!/usr/bin/env python3
"""Compares the training step of imported sources with the same step in PyTorch, on one GPU.

    bench/compare_gpu_step.py --program build/tributary-main [--only vit,convnext,script] [--steps 10]

ViT-B/16 and ConvNeXt-T: our step, captured as a CUDA graph, against PyTorch's with fused attention, captured likewise.
ResNet-50: our step with TorchScript sources against PyTorch's eager one. Two sources, batches of 32, bfloat16. PyTorch
is measured before and after our program; where it can run a network in several ways (timm's and torchvision's ViT, two
memory layouts), all of them are measured, and the ratio is that to the fastest. Without timm, its row is left out.
Prints pictures per second, three batches through every source, and the ratios; exits with 1 if one misses its goal.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

# name: title, the ways in which PyTorch runs it, the entry of our measurement, the goal of the ratio
ROWS = {
    "vit": ("ViT-B/16, CUDA graph", {"timm": ["--network", "timm:vit_base_patch16_224"],
                                     "torchvision": ["--network", "vit_b_16"]}, "train_recorded", 1.0),
    "convnext": ("ConvNeXt-T, CUDA graph", {"channels-last": ["--network", "convnext_tiny"],
                                            "default": ["--network", "convnext_tiny", "--layout", "nchw"]},
                 "train_recorded", 1.0),
    "script": ("ResNet-50, TorchScript", {"eager": ["--network", "resnet50", "--eager"]}, "train_eager", 0.95),
}


class Reference:
    """PyTorch in a process of its own. It starts at once and measures on request."""

    def __init__(self, options, way, save):
        command = [options.python, str(ROOT / "bench/reference/graph_step.py"), "--imported", "--serve", *way,
                   "--steps", str(options.steps), "--batch", str(options.batch), "--size", str(options.size),
                   "--stored", str(options.stored), "--device", options.device]
        command += ["--save", str(save)] if save else []
        command += ["--script"] if "--eager" in way else []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ready(self):
        """False if the process failed, as without timm."""
        return self.process.stdout.readline().strip() == "ready"

    def seconds(self):
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def quit(self):
        self.process.stdin.close()
        self.process.wait()


def our_rate(options, file, entry):
    spec = f"{file}:size={options.size},resize={options.stored}"
    trust = ["--trust"] if entry == "train_eager" else []
    command = [str(options.program), "bench", "speed", "--source", spec, *trust, "--sources", "2", "--batch",
               str(options.batch), "--steps", str(options.steps), "--device", options.device, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} exited with {done.returncode}")
    made = json.loads(done.stdout)
    return made[entry if options.device != "cpu" else "train_eager"]["pictures_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/tributary-main")
    parser.add_argument("--python", default=sys.executable, help="interpreter with torch, torchvision and timm")
    parser.add_argument("--only", default=",".join(ROWS))
    parser.add_argument("--steps", type=int, default=10, help="steps per measurement; there are five")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--stored", type=int, default=256)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    start = time.monotonic()
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        files = {row: pathlib.Path(folder) / f"{row}.pt" for row in options.only.split(",")}
        references = {}  # all prepare at the same time; nothing is measured meanwhile
        for row, file in files.items():
            ways = ROWS[row][1]
            for way in ways:
                save = file if way == list(ways)[-1] else None
                references[row, way] = Reference(options, ways[way], save)
        references = {key: reference for key, reference in references.items() if reference.ready()}
        print(f"prepared in {time.monotonic() - start:.0f} s\n", flush=True)
        print("| step | ours, pictures/s | PyTorch, pictures/s | ours / PyTorch | goal |\n|---|---:|---:|---:|---:|",
              flush=True)
        for row, file in files.items():
            title, _, entry, goal = ROWS[row]
            own = {way: reference for (other, way), reference in references.items() if other == row}
            if not own:
                sys.exit(f"PyTorch failed in every way for {title}")
            before = {way: reference.seconds() for way, reference in own.items()}
            ours = our_rate(options, file, entry)
            after = {way: reference.seconds() for way, reference in own.items()}
            pictures = 3 * options.batch * 2
            theirs = {way: pictures / statistics.mean([before[way], after[way]]) for way in own}
            ratio = ours / max(theirs.values())
            listed = ", ".join(f"{rate:,.0f} ({way})" for way, rate in theirs.items())
            print(f"| {title} | {ours:,.0f} | {listed} | {ratio:.2f} | {goal} |", flush=True)
            if ratio < goal:
                missed.append(title)
        for reference in references.values():
            reference.quit()
    print(f"\n{time.monotonic() - start:.0f} s in all" + (f"; below the goal: {', '.join(missed)}" if missed else ""))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
