"""Baseline: the speed of one training step of adaptation in plain PyTorch.

    /usr/bin/python3 bench/training_step.py lenet --sources 2 --layout channels_last

A step includes gathering and normalising the pictures, mixup, three passes through every source, the discriminator's
step, all losses, backward and SGD. Prints pictures per second: 3 * batch * sources over the median time of a step.

With --serve the process warms up and then reads commands from standard input: "run" does --steps steps and prints the
median seconds per step, "quit" exits. Two programs can thus be measured alternately on the same noisy machine.
"""
import argparse
import random
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

CLASSES = 10
WIDTH = 256
LAMBDA_CE, LAMBDA_IM, LAMBDA_ADV = 0.2, 1.0, 1.0


def lenet():
    return nn.Sequential(
        nn.Conv2d(3, 20, 5), nn.MaxPool2d(2), nn.ReLU(inplace=True),
        nn.Conv2d(20, 50, 5), nn.Dropout2d(0.5), nn.MaxPool2d(2), nn.ReLU(inplace=True),
        nn.Flatten()), 1250


def dtn():
    layers = []
    for inputs, outputs, rate in ((3, 64, 0.1), (64, 128, 0.3), (128, 256, 0.5)):
        layers += [nn.Conv2d(inputs, outputs, 5, stride=2, padding=2), nn.BatchNorm2d(outputs), nn.Dropout2d(rate),
                   nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.Flatten()), 4096


class Source(nn.Module):
    def __init__(self, architecture):
        super().__init__()
        self.backbone, width = {"lenet": lenet, "dtn": dtn}[architecture]()
        linear = nn.Linear(width, WIDTH)
        nn.init.xavier_normal_(linear.weight)
        nn.init.zeros_(linear.bias)
        self.bottleneck = nn.Sequential(linear, nn.BatchNorm1d(WIDTH), nn.Dropout(0.5))
        self.classifier = nn.utils.weight_norm(nn.Linear(WIDTH, CLASSES)).requires_grad_(False)

    def forward(self, x):
        return self.bottleneck(self.backbone(x))


class Pictures:
    """Random uint8 pictures in memory; next() returns shuffled, normalised batches indefinitely."""

    def __init__(self, count, batch, layout):
        # Channels-last pictures are stored as [n, H, W, C] and viewed as [n, C, H, W], so that no step has to convert
        # the layout.
        shape = (count, 32, 32, 3) if layout == "channels_last" else (count, 3, 32, 32)
        self.pixels = torch.randint(0, 256, shape, dtype=torch.uint8)
        self.labels = torch.randint(0, CLASSES, (count,))
        self.channels_last = layout == "channels_last"
        self.batch = batch
        self.order = torch.empty(0, dtype=torch.int64)
        self.at = 0

    def next(self):
        if self.at + self.batch > len(self.order):
            self.order, self.at = torch.randperm(len(self.pixels)), 0
        chosen = self.order[self.at:self.at + self.batch]
        self.at += self.batch
        x = self.pixels.index_select(0, chosen)
        if self.channels_last:
            x = x.permute(0, 3, 1, 2)
        return x.float().div_(127.5).sub_(1.0), self.labels[chosen]


def entropy(p):
    return -(p * torch.log(p + 1e-5)).sum(-1)


def information_maximisation(z):
    p = F.softmax(z, dim=1)
    return entropy(p).mean() - entropy(p.mean(0))


class Adaptation:
    def __init__(self, options):
        memory_format = {"nchw": torch.contiguous_format, "channels_last": torch.channels_last}[options.layout]
        self.sources = [Source(options.architecture).to(memory_format=memory_format).train()
                        for _ in range(options.sources)]
        self.discriminator = nn.Sequential(nn.Linear(WIDTH * options.sources, 64), nn.ReLU(inplace=True),
                                           nn.Linear(64, 1))
        count = max(4096, 4 * options.batch)
        self.labelled = Pictures(count, options.batch, options.layout)
        self.unlabelled = Pictures(count, options.batch, options.layout)
        self.one, self.zero = torch.ones(options.batch, 1), torch.zeros(options.batch, 1)
        self.optimiser = torch.optim.SGD(
            [{"params": [p for source in self.sources for p in getattr(source, part).parameters()]}
             for part in ("backbone", "bottleneck")],
            lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-3)
        self.discriminator_optimiser = torch.optim.SGD(self.discriminator.parameters(), lr=0.01)
        self.done = 0

    def alignment(self, logit_l, logit_u, label_l, label_u):
        return 0.5 * (F.binary_cross_entropy_with_logits(logit_l, label_l)
                      + F.binary_cross_entropy_with_logits(logit_u, label_u))

    def step(self):
        self.done += 1
        for group in self.optimiser.param_groups:
            group["lr"] = 0.01 * (1 + 10 * min(self.done / 1000, 1.0)) ** -0.75

        x_l, y = self.labelled.next()
        x_u, _ = self.unlabelled.next()
        mixing, perm = random.random(), torch.randperm(len(x_l))
        x_mix, y_mix = torch.lerp(x_l[perm], x_l, mixing), y[perm]

        phi_l, phi_u, loss = [], [], 0.0
        for source in self.sources:
            z_mix = source.classifier(source(x_mix))
            phi_l.append(source(x_l))
            phi_u.append(source(x_u))
            z_l = source.classifier(phi_l[-1])
            ce = (mixing * F.cross_entropy(z_mix, y) + (1 - mixing) * F.cross_entropy(z_mix, y_mix)
                  + F.cross_entropy(z_l, y))
            loss = loss + LAMBDA_CE * ce + LAMBDA_IM * information_maximisation(z_l)
        phi_l, phi_u = torch.cat(phi_l, 1), torch.cat(phi_u, 1)

        self.discriminator_optimiser.zero_grad(set_to_none=True)
        self.alignment(self.discriminator(phi_l.detach()), self.discriminator(phi_u.detach()),
                       self.one, self.zero).backward()
        self.discriminator_optimiser.step()

        self.discriminator.requires_grad_(False)
        loss = loss + LAMBDA_ADV * self.alignment(self.discriminator(phi_l), self.discriminator(phi_u),
                                                  self.zero, self.one)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        self.discriminator.requires_grad_(True)

    def median_seconds(self, steps):
        seconds = []
        for _ in range(steps):
            start = time.perf_counter()
            self.step()
            seconds.append(time.perf_counter() - start)
        return statistics.median(seconds)


def serve(adaptation, steps):
    for line in sys.stdin:
        command = line.strip()
        if command == "quit":
            break
        if command == "run":
            print(f"{adaptation.median_seconds(steps):.9f}", flush=True)
        elif command:
            print(f"training_step.py: unknown command '{command}'; use run or quit", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description="pictures per second of one adaptation step in PyTorch, on the CPU")
    parser.add_argument("architecture", choices=("lenet", "dtn"))
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--sources", type=int, default=2)
    parser.add_argument("--layout", choices=("nchw", "channels_last"), default="nchw")
    parser.add_argument("--steps", type=int, default=20, help="steps per measurement")
    parser.add_argument("--warmup", type=int, default=5, help="steps before the first measurement")
    parser.add_argument("--threads", type=int, help="default: chosen by torch")
    parser.add_argument("--serve", action="store_true", help="read commands 'run' and 'quit' from standard input")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    random.seed(0)
    torch.manual_seed(0)

    adaptation = Adaptation(options)
    adaptation.median_seconds(max(1, options.warmup))
    if options.serve:
        serve(adaptation, options.steps)
    else:
        seconds = adaptation.median_seconds(options.steps)
        print(f"{3 * options.batch * options.sources / seconds:.1f}")


if __name__ == "__main__":
    main()
