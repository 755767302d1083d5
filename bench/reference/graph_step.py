#!/usr/bin/env python3
"""Baseline: the training step of selective self-training in PyTorch, captured as a CUDA graph.

    bench/reference/graph_step.py [--sources 2] [--batch 32] [--steps 50] [--network resnet50]

Every source processes the mixed, the confident and the unconfident batch, cropped from pictures on the device. The
losses are cross-entropy, information maximisation and one adversary on the joint features; bfloat16 autocast,
channels-last, fused SGD. Prints pictures per second (three batches through every source), median of five runs.
"""
import argparse
import statistics
import time

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

CLASSES, WIDTH, STORED, SIZE, PICTURES = 31, 256, 256, 224, 512


class Source(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.backbone = getattr(torchvision.models, network)(weights=None)
        features = self.backbone.fc.in_features
        self.backbone.fc = nn.Identity()
        self.bottleneck = nn.Sequential(nn.Linear(features, WIDTH), nn.BatchNorm1d(WIDTH))
        self.classifier = nn.utils.weight_norm(nn.Linear(WIDTH, CLASSES)).requires_grad_(False)

    def forward(self, x):
        features = self.bottleneck(self.backbone(x))
        return features.float(), self.classifier(features).float()


def information(logits):
    p = logits.softmax(1)
    entropy = -(p * (p + 1e-5).log()).sum(1).mean()
    marginal = p.mean(0)
    return entropy + (marginal * (marginal + 1e-5).log()).sum()


class Step:
    def __init__(self, options):
        self.batch = options.batch
        self.sources = [Source(options.network).cuda().to(memory_format=torch.channels_last).train()
                        for _ in range(options.sources)]
        self.discriminator = nn.Sequential(nn.Linear(WIDTH * options.sources, 64), nn.ReLU(), nn.Linear(64, 1)).cuda()
        self.rate = torch.tensor(1e-4, device="cuda")
        groups = [{"params": [p for s in self.sources for p in s.parameters() if p.requires_grad], "lr": self.rate}]
        self.optimiser = torch.optim.SGD(groups, momentum=0.9, nesterov=True, weight_decay=1e-3, fused=True)
        self.discriminator_optimiser = torch.optim.SGD(self.discriminator.parameters(), lr=1e-2, foreach=True)
        self.pixels = torch.randint(256, (PICTURES, STORED, STORED, 3), dtype=torch.uint8, device="cuda")
        self.label = torch.arange(PICTURES, device="cuda") % CLASSES
        self.mean = torch.tensor([0.485, 0.456, 0.406], device="cuda").view(1, 3, 1, 1)
        self.deviation = torch.tensor([0.229, 0.224, 0.225], device="cuda").view(1, 3, 1, 1)
        self.luma = torch.tensor([0.299, 0.587, 0.114], device="cuda").view(1, 3, 1, 1)
        self.ints = torch.zeros(11 * options.batch, dtype=torch.int64, device="cuda")
        self.ratio = torch.tensor(0.5, device="cuda")
        self.draw()

    def draw(self):
        b = self.batch
        draws = [torch.randint(PICTURES, (2 * b,)), torch.randperm(b), torch.randint(STORED - SIZE + 1, (4 * b,)),
                 torch.randint(2, (2 * b,)), (torch.rand(2 * b) < 0.1).long()]
        self.ints.copy_(torch.cat(draws).pin_memory(), non_blocking=True)
        self.ratio.fill_(float(torch.rand(())))

    def pictures(self, which):
        b = self.batch
        index = self.ints[which * b:(which + 1) * b]
        top, left = self.ints[3 * b:7 * b].view(4, b)[2 * which:2 * which + 2]
        flipped = self.ints[7 * b:9 * b].view(2, b)[which]
        grey = self.ints[9 * b:].view(2, b)[which].bool()
        along = torch.arange(SIZE, device="cuda")
        rows = top[:, None] + along
        columns = left[:, None] + flipped[:, None] * (SIZE - 1) + (1 - 2 * flipped[:, None]) * along
        x = self.pixels[index[:, None, None], rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2).float() / 255
        x = torch.where(grey.view(-1, 1, 1, 1), (x * self.luma).sum(1, keepdim=True), x)
        x = x.contiguous(memory_format=torch.channels_last)
        return index, (x - self.mean) / self.deviation

    def run(self):
        index, clean = self.pictures(0)
        _, unconfident_x = self.pictures(1)
        permutation = self.ints[2 * self.batch:3 * self.batch]
        label = self.label[index]
        mixed = torch.lerp(clean[permutation], clean, self.ratio).contiguous(memory_format=torch.channels_last)
        self.optimiser.zero_grad(set_to_none=True)
        objective, confident, unconfident = 0, [], []
        for source in self.sources:
            with torch.autocast("cuda", torch.bfloat16):
                _, z_mix = source(mixed)
                phi, z = source(clean)
                phi_u, _ = source(unconfident_x)
            ce = self.ratio * F.cross_entropy(z_mix, label) + (1 - self.ratio) * F.cross_entropy(z_mix, label[permutation])
            objective = objective + 0.2 * (ce + F.cross_entropy(z, label)) + information(z)
            confident.append(phi)
            unconfident.append(phi_u)
        joint, joint_u = torch.cat(confident, 1), torch.cat(unconfident, 1)
        ones, zeros = torch.ones(self.batch, 1, device="cuda"), torch.zeros(self.batch, 1, device="cuda")
        bce = F.binary_cross_entropy_with_logits
        self.discriminator_optimiser.zero_grad(set_to_none=True)
        (bce(self.discriminator(joint.detach()), ones) + bce(self.discriminator(joint_u.detach()), zeros)).backward()
        self.discriminator_optimiser.step()
        adversarial = bce(self.discriminator(joint), zeros) + bce(self.discriminator(joint_u), ones)
        (objective + adversarial).backward()
        self.optimiser.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--network", default="resnet50")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    step = Step(options)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step.run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        step.run()
    seconds = []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(options.steps):
            step.draw()
            graph.replay()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    pictures = 3 * options.batch * options.sources * options.steps
    print(f"{pictures / statistics.median(seconds):.0f} pictures/s")


if __name__ == "__main__":
    main()
