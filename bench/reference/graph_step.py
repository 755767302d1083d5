#!/usr/bin/env python3
"""Baseline: the training step of selective self-training in PyTorch, captured as a CUDA graph.

    bench/reference/graph_step.py [--sources 2] [--batch 32] [--steps 50] [--network resnet50] [--eager] [--imported]

Every source processes the mixed, the confident and the unconfident batch, cropped from pictures on the device. The
losses are cross-entropy, information maximisation and one adversary on the joint features; bfloat16 autocast,
channels-last, fused SGD, clipped gradients for networks without BatchNorm. Prints pictures per second (three batches
through every source), median of five runs.

Networks are torchvision's, or timm's as timm:vit_base_patch16_224. With --imported, the backbone's features go straight
to a frozen linear classifier, as in weights that users bring. --save FILE writes that source: its weights, or with
--script a TorchScript module with the methods `features` and `classify`. With --serve the process prints "ready" when
it is warm, and then the seconds per step for every line "run" of standard input.
"""
import argparse
import contextlib
import statistics
import sys
import time

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

CLASSES, WIDTH, PICTURES, RATE = 31, 256, 512, 1e-4


def backbone_of(name, size):
    """The network without its last linear layer, that layer's name, and the layer."""
    if name.startswith("timm:"):
        import timm
        sized = {"img_size": size} if "vit_" in name else {}
        net = timm.create_model(name[5:], num_classes=CLASSES, **sized)
    else:
        extra = {"vit": {"image_size": size}, "convnext": {"stochastic_depth_prob": 0}}.get(name.split("_")[0], {})
        net = getattr(torchvision.models, name)(weights=None, num_classes=CLASSES, **extra)
    head = [layer for layer, module in net.named_modules() if isinstance(module, nn.Linear)][-1]
    linear = net.get_submodule(head)
    parent, _, last = head.rpartition(".")
    setattr(net.get_submodule(parent), last, nn.Identity())
    return net, head, linear


class Source(nn.Module):
    """A backbone, a bottleneck and a frozen classifier with normalised weights."""

    def __init__(self, network, size):
        super().__init__()
        self.backbone, _, linear = backbone_of(network, size)
        self.bottleneck = nn.Sequential(nn.Linear(linear.in_features, WIDTH), nn.BatchNorm1d(WIDTH))
        self.classifier = nn.utils.weight_norm(nn.Linear(WIDTH, CLASSES)).requires_grad_(False)
        self.width = WIDTH

    def forward(self, x):
        features = self.bottleneck(self.backbone(x))
        return features.float(), self.classifier(features).float()


class ImportedSource(nn.Module):
    """A backbone and a frozen linear classifier."""

    def __init__(self, network, size):
        super().__init__()
        self.backbone, self.head, self.classifier = backbone_of(network, size)
        self.classifier.requires_grad_(False)
        self.width = self.classifier.in_features

    def forward(self, x):
        features = self.backbone(x)
        return features.float(), self.classifier(features).float()

    def save(self, path):
        head = {f"{self.head}.{name}": value for name, value in self.classifier.state_dict().items()}
        torch.save({**self.backbone.state_dict(), **head}, path)


class Script(nn.Module):
    def __init__(self, source):
        super().__init__()
        self.body, self.last = source.backbone, source.classifier

    def forward(self, x):
        return self.classify(self.features(x))

    @torch.jit.export
    def features(self, x):
        return self.body(x)

    @torch.jit.export
    def classify(self, phi):
        return self.last(phi)


def bfloat16():
    return torch.autocast("cuda", torch.bfloat16)


def information(logits):
    p = logits.softmax(1)
    entropy = -(p * (p + 1e-5).log()).sum(1).mean()
    marginal = p.mean(0)
    return entropy + (marginal * (marginal + 1e-5).log()).sum()


def has_batch_norm(net):
    return any(isinstance(module, nn.BatchNorm2d) for module in net.modules())


class Step:
    def __init__(self, options):
        self.batch, self.stored, self.size, self.device = options.batch, options.stored, options.size, options.device
        make = ImportedSource if options.imported else Source
        layout = {"nchw": torch.contiguous_format, "channels_last": torch.channels_last}[options.layout]
        self.sources = [make(options.network, options.size) for _ in range(options.sources)]
        if options.save and options.script:
            torch.jit.script(Script(self.sources[0]).eval()).save(options.save)
        elif options.save:
            self.sources[0].save(options.save)
        self.sources = [source.to(self.device).to(memory_format=layout).train() for source in self.sources]
        self.layout = layout
        width = sum(source.width for source in self.sources)
        on = {"device": self.device}
        self.discriminator = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 1)).to(self.device)
        gpu = self.device != "cpu"
        self.precision = bfloat16 if gpu else contextlib.nullcontext
        rate = torch.tensor(RATE, **on) if gpu else RATE
        fused = {"fused": True} if gpu else {}
        groups = [{"params": [p for s in self.sources for p in s.parameters() if p.requires_grad], "lr": rate}]
        self.optimiser = torch.optim.SGD(groups, momentum=0.9, nesterov=True, weight_decay=1e-3, **fused)
        self.discriminator_optimiser = torch.optim.SGD(self.discriminator.parameters(), lr=1e-2, foreach=True)
        self.clipped = [[p for p in s.backbone.parameters() if p.requires_grad] for s in self.sources
                        if not has_batch_norm(s.backbone)]
        self.pixels = torch.randint(256, (PICTURES, self.stored, self.stored, 3), dtype=torch.uint8, **on)
        self.label = torch.arange(PICTURES, **on) % CLASSES
        self.mean = torch.tensor([0.485, 0.456, 0.406], **on).view(1, 3, 1, 1)
        self.deviation = torch.tensor([0.229, 0.224, 0.225], **on).view(1, 3, 1, 1)
        self.luma = torch.tensor([0.299, 0.587, 0.114], **on).view(1, 3, 1, 1)
        self.ints = torch.zeros(11 * options.batch, dtype=torch.int64, **on)
        self.ratio = torch.tensor(0.5, **on)
        self.ones, self.zeros = torch.ones(self.batch, 1, **on), torch.zeros(self.batch, 1, **on)
        self.draw()

    def draw(self):
        b = self.batch
        draws = [torch.randint(PICTURES, (2 * b,)), torch.randperm(b), torch.randint(self.stored - self.size + 1, (4 * b,)),
                 torch.randint(2, (2 * b,)), (torch.rand(2 * b) < 0.1).long()]
        drawn = torch.cat(draws)
        self.ints.copy_(drawn if self.device == "cpu" else drawn.pin_memory(), non_blocking=True)
        self.ratio.fill_(float(torch.rand(())))

    def pictures(self, which):
        b = self.batch
        index = self.ints[which * b:(which + 1) * b]
        top, left = self.ints[3 * b:7 * b].view(4, b)[2 * which:2 * which + 2]
        flipped = self.ints[7 * b:9 * b].view(2, b)[which]
        grey = self.ints[9 * b:].view(2, b)[which].bool()
        along = torch.arange(self.size, device=self.device)
        rows = top[:, None] + along
        columns = left[:, None] + flipped[:, None] * (self.size - 1) + (1 - 2 * flipped[:, None]) * along
        x = self.pixels[index[:, None, None], rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2).float() / 255
        x = torch.where(grey.view(-1, 1, 1, 1), (x * self.luma).sum(1, keepdim=True), x)
        x = x.contiguous(memory_format=self.layout)
        return index, (x - self.mean) / self.deviation

    def run(self):
        index, clean = self.pictures(0)
        _, unconfident_x = self.pictures(1)
        permutation = self.ints[2 * self.batch:3 * self.batch]
        label = self.label[index]
        mixed = torch.lerp(clean[permutation], clean, self.ratio).contiguous(memory_format=self.layout)
        self.optimiser.zero_grad(set_to_none=True)
        objective, confident, unconfident = 0, [], []
        for source in self.sources:
            with self.precision():
                _, z_mix = source(mixed)
                phi, z = source(clean)
                phi_u, _ = source(unconfident_x)
            ce = self.ratio * F.cross_entropy(z_mix, label) + (1 - self.ratio) * F.cross_entropy(z_mix, label[permutation])
            objective = objective + 0.2 * (ce + F.cross_entropy(z, label)) + information(z)
            confident.append(phi)
            unconfident.append(phi_u)
        joint, joint_u = torch.cat(confident, 1), torch.cat(unconfident, 1)
        ones, zeros = self.ones, self.zeros
        bce = F.binary_cross_entropy_with_logits
        self.discriminator_optimiser.zero_grad(set_to_none=True)
        (bce(self.discriminator(joint.detach()), ones) + bce(self.discriminator(joint_u.detach()), zeros)).backward()
        self.discriminator_optimiser.step()
        adversarial = bce(self.discriminator(joint), zeros) + bce(self.discriminator(joint_u), ones)
        (objective + adversarial).backward()
        for parameters in self.clipped:
            nn.utils.clip_grad_norm_(parameters, 1.0)
        self.optimiser.step()


def prepared(step, eager):
    """A function that does one step: the captured one if possible."""
    if step.device == "cpu":
        step.run()
        return step.run
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step.run()
    torch.cuda.synchronize()
    if eager:
        return step.run
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        step.run()
    return graph.replay


def synchronise(step):
    if step.device != "cpu":
        torch.cuda.synchronize()


def seconds_per_step(step, work, steps):
    """Median of five measurements of `steps` steps each."""
    seconds = []
    for _ in range(5):
        synchronise(step)
        start = time.perf_counter()
        for _ in range(steps):
            step.draw()
            work()
        synchronise(step)
        seconds.append((time.perf_counter() - start) / steps)
    return statistics.median(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--network", default="resnet50")
    parser.add_argument("--layout", choices=("channels_last", "nchw"), default="channels_last")
    parser.add_argument("--size", type=int, default=224, help="side of the crops")
    parser.add_argument("--stored", type=int, default=256, help="side of the pictures")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--eager", action="store_true", help="no CUDA graph")
    parser.add_argument("--imported", action="store_true", help="sources without a bottleneck")
    parser.add_argument("--save", help="file for the first source; needs --imported")
    parser.add_argument("--script", action="store_true", help="save it as TorchScript")
    parser.add_argument("--serve", action="store_true", help="measure at every line of standard input")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    if options.save and not options.imported:
        parser.error("--save needs --imported")
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.backends.cudnn.benchmark = True
    step = Step(options)
    work = prepared(step, options.eager)
    if options.serve:
        print("ready", flush=True)
        for _ in iter(sys.stdin.readline, ""):
            print(f"{seconds_per_step(step, work, options.steps):.9f}", flush=True)
        return
    pictures = 3 * options.batch * options.sources
    print(f"{pictures / seconds_per_step(step, work, options.steps):.0f} pictures/s")


if __name__ == "__main__":
    main()
