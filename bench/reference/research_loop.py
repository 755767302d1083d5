#!/usr/bin/env python3
"""Baseline for a whole run: selective self-training as a research script implements it, from our source models.

    bench/reference/research_loop.py --source a.safetensors --source b.safetensors --target FOLDER [--rounds 2]

Follows the description of the method and those habits of the published script that determine its run time: pictures are
decoded at every access, eager float32 with PyTorch's defaults, anomaly detection, both loaders restart as soon as one
ends, three passes over the target set per round, 20,000 SGD steps for m weights, samples sorted in Python. Mistakes of
the script that cost no time are left out. Its redundant backward passes are only done with `--backward published`: one
per source, each through the adversary into all sources, and that of the adversary, also into the features.

Prints one JSON object. Its total is an estimate in which rounds that were not run take the mean step time of those that
were; late rounds restart their loaders more often, so it is rather too low. `--timed-steps` limits the training steps
per round.
"""
import argparse
import collections
import contextlib
import copy
import json
import sys
import time

import torch
import torch.nn.functional as F
import torchvision
from torch import nn
from torch.utils.data import DataLoader
from torchvision import transforms

WIDTH = 256
LAMBDA_CE, LAMBDA_IM, LAMBDA_ADVERSARY, LAMBDA_ALPHA = 0.1, 1.0, 1.0, 0.6
TENSOR = [transforms.ToTensor(), transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
TRAINING = transforms.Compose([transforms.Resize((256, 256)), transforms.RandomCrop(224),
                               transforms.RandomHorizontalFlip(), transforms.RandomGrayscale(0.1), *TENSOR])
EVALUATION = transforms.Compose([transforms.Resize((256, 256)), transforms.CenterCrop(224), *TENSOR])


class Source(nn.Module):
    def __init__(self, architecture, classes, early_stride):
        super().__init__()
        self.backbone = getattr(torchvision.models, architecture)(weights=None)
        layers = {"linear": nn.Linear(self.backbone.fc.in_features, WIDTH), "bn": nn.BatchNorm1d(WIDTH)}
        self.backbone.fc = nn.Identity()
        self.bottleneck = nn.Sequential(collections.OrderedDict(layers))
        self.classifier = nn.utils.weight_norm(nn.Linear(WIDTH, classes)).requires_grad_(False)
        for stage in (self.backbone.layer2, self.backbone.layer3, self.backbone.layer4):
            if early_stride and hasattr(stage[0], "conv3"):  # bottleneck blocks only
                stage[0].conv1.stride, stage[0].conv2.stride = (2, 2), (1, 1)

    def forward(self, x):
        features = self.bottleneck(self.backbone(x))
        return features, self.classifier(features)


def read_source(path):
    """Reads a Tributary model file: safetensors, i.e. the length of a JSON header, the header, the tensors."""
    with open(path, "rb") as file:
        header, data = json.loads(file.read(int.from_bytes(file.read(8), "little"))), bytearray(file.read())
    info = json.loads(header.pop("__metadata__")["model"])
    state = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        kind = {"F32": torch.float32, "I64": torch.int64}[entry["dtype"]]
        state[name] = torch.frombuffer(data[begin:end], dtype=kind).view(entry["shape"])
    source = Source(info["architecture"], len(info["classes"]), info.get("stride") == "1x1")
    source.load_state_dict(state)
    return source, info["classes"]


def information(p):
    marginal = p.mean(0)
    return (marginal * (marginal + 1e-5).log()).sum() - (p * (p + 1e-5).log()).sum(1).mean()


def discriminator_loss(one, zero):
    bce = F.binary_cross_entropy_with_logits
    return 0.5 * (bce(one, torch.ones_like(one)) + bce(zero, torch.zeros_like(zero)))


class Loop:
    def __init__(self, options):
        self.options, self.device, self.seconds = options, torch.device(options.device), collections.Counter()
        self.target = torchvision.datasets.ImageFolder(options.target)
        self.sources, self.optimisers, m = [], [], len(options.source)
        for path in options.source:
            source, classes = read_source(path)
            if classes != self.target.classes:
                raise SystemExit(f"research_loop.py: the folders of {options.target} are not the classes of {path}")
            self.sources.append(source.to(self.device))
            groups = [{"params": source.backbone.parameters(), "first": 1e-3},
                      {"params": source.bottleneck.parameters(), "first": 1e-2}]
            self.optimisers.append(torch.optim.SGD(groups, lr=1e-2, momentum=0.9, weight_decay=1e-3, nesterov=True))
        self.discriminator = nn.Sequential(nn.Linear(WIDTH * m, 64), nn.ReLU(), nn.Linear(64, 1)).to(self.device)
        for parameter in self.discriminator.parameters():
            nn.init.xavier_normal_(parameter) if parameter.dim() > 1 else nn.init.zeros_(parameter)
        self.discriminator_optimiser = torch.optim.SGD(self.discriminator.parameters(), lr=1e-2)
        self.weights = torch.full((m,), 1 / m, device=self.device, requires_grad=True)
        self.pseudo = None  # labels of the last training per sample, -1 for unlabelled

    @contextlib.contextmanager
    def timed(self, phase):
        wait = torch.cuda.synchronize if self.device.type == "cuda" else lambda: None
        wait()
        start = time.perf_counter()
        yield
        wait()
        self.seconds[phase] += time.perf_counter() - start

    def report(self, **facts):
        took, self.seconds = self.seconds, collections.Counter()
        took["rest"] = took["all"] - took["training"] - took["evaluation"] - took["weights"]
        facts.update({f"{phase}_seconds": seconds for phase, seconds in took.items()})
        print("  ".join(f"{name} {value:.4g}" for name, value in facts.items()), file=sys.stderr, flush=True)
        return facts

    def loader(self, samples, transform, shuffle):
        pictures = copy.copy(self.target)
        pictures.samples, pictures.transform = samples, transform
        return DataLoader(pictures, self.options.batch, shuffle, num_workers=self.options.workers)

    @torch.no_grad()
    def outputs(self):
        """Features [m, n, 256] and logits [m, n, K] of the target set; runs a whole pass."""
        found = []
        with self.timed("evaluation"):
            for x, _ in self.loader(self.target.samples, EVALUATION, shuffle=False):
                x = x.to(self.device)
                phi, z = zip(*[source.eval()(x) for source in self.sources])
                found.append((torch.stack(phi), torch.stack(z)))
        return [torch.cat(parts, 1) for parts in zip(*found)]

    def mixture(self, logits):
        return (self.weights.abs().view(-1, 1, 1) * logits).sum(0).softmax(1)

    def weigh(self, logits):
        optimiser = torch.optim.SGD([self.weights], lr=0.1)
        with self.timed("weights"):
            for _ in range(self.options.weight_steps):
                optimiser.zero_grad()
                information(self.mixture(logits)).backward()
                optimiser.step()

    def near_prototypes(self, features, label):
        """Prototype probabilities [n, K] of one source; prototypes are refined once."""
        selected = label >= 0
        for _ in range(2):
            members = [features[label == k] for k in range(len(self.target.classes))]
            prototypes = torch.stack([own.sum(0) / max(len(own), 1) for own in members])
            q = (-torch.cdist(features, prototypes) ** 2 / 20).softmax(1)
            label = torch.where(selected, q.argmax(1), label)
        return q

    @torch.no_grad()
    def score(self, features, logits):
        share, near = self.weights.abs() / (self.weights.abs().sum() + 1e-5), 0
        for j, own in enumerate(logits.argmax(2)):
            label = own if self.pseudo is None else torch.tensor(self.pseudo, device=self.device)
            near = near + share[j] * self.near_prototypes(features[j], label)
        return (self.mixture(logits) * near).max(1)

    def assess(self):
        """Confidence and label of every sample, and the accuracy of the mixture; three passes like the script."""
        self.weigh(self.outputs()[1])
        confidence, label = self.score(*self.outputs())
        guess = self.mixture(self.outputs()[1]).argmax(1).tolist()
        right = sum(guess[i] == true for i, (_, true) in enumerate(self.target.samples))
        return confidence.tolist(), label.tolist(), 100 * right / len(guess)

    def select(self, confidence, label, count):
        order = sorted(range(len(label)), key=lambda i: confidence[i], reverse=True)
        confident, unconfident, self.pseudo = [], [], [-1] * len(label)
        for rank, i in enumerate(order):
            if rank < count:
                self.pseudo[i] = label[i]
            (confident if rank < count else unconfident).append((self.target.samples[i][0], self.pseudo[i]))
        return confident, unconfident

    def train(self, confident, unconfident):
        """Trains one round; returns its steps and the number of loader restarts."""
        sure, other = self.loader(confident, TRAINING, shuffle=True), self.loader(unconfident, TRAINING, shuffle=True)
        steps = self.options.inner_epochs * max(len(sure), len(other))
        step, restarts, pairs = 0, 0, zip(sure, other)
        timed = min(steps, self.options.timed_steps or steps)
        while step < timed:
            try:
                (clean, label), (unsure, _) = next(pairs)
            except StopIteration:
                with self.timed("restarts"):
                    pairs = zip(sure, other)
                    (clean, label), (unsure, _) = next(pairs)
                restarts += 1
            if len(clean) > 2 and len(unsure) > 2:
                step += 1
                for group in (group for optimiser in self.optimisers for group in optimiser.param_groups):
                    group["lr"] = group["first"] * (1 + 10 * step / steps) ** -0.75
                self.step(clean.to(self.device), label.to(self.device), unsure.to(self.device))
        return timed, restarts

    def step(self, clean, label, unsure):
        ratio, permutation = float(torch.rand(())), torch.randperm(len(clean), device=self.device)
        mixed = ratio * clean + (1 - ratio) * clean[permutation]
        own, features = [], []
        for source in self.sources:
            (_, z_mix), (phi, z), (phi_u, _) = map(source.train(), (mixed, clean, unsure))
            ce = ratio * F.cross_entropy(z_mix, label) + (1 - ratio) * F.cross_entropy(z_mix, label[permutation])
            own.append(LAMBDA_CE * (ce + F.cross_entropy(z, label)) + LAMBDA_IM * information(z.softmax(1)))
            features.append((phi, phi_u))
        joint, joint_u = (torch.cat(phi, 1) for phi in zip(*features))
        if self.options.backward == "published":
            a, a_u = self.discriminator(joint), self.discriminator(joint_u)
            for optimiser, loss in zip(self.optimisers, own):
                optimiser.zero_grad()
                (loss + LAMBDA_ADVERSARY * discriminator_loss(a_u, a)).backward(retain_graph=True)
            self.discriminator_optimiser.zero_grad()
            discriminator_loss(a, a_u).backward()
            self.discriminator_optimiser.step()
        else:
            for optimiser in (self.discriminator_optimiser, *self.optimisers):
                optimiser.zero_grad()
            discriminator_loss(self.discriminator(joint.detach()), self.discriminator(joint_u.detach())).backward()
            self.discriminator_optimiser.step()
            adversarial = discriminator_loss(self.discriminator(joint_u), self.discriminator(joint))
            (sum(own) + LAMBDA_ADVERSARY * adversarial).backward()
        for optimiser in self.optimisers:
            optimiser.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", action="append", required=True, help="model file, once per source")
    parser.add_argument("--target", required=True, help="folder of class folders")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--backward", choices=("once", "published"), default="once")
    numbers = {"rounds": 2, "total-rounds": 20, "inner-epochs": 3, "batch": 32, "workers": 8, "weight-steps": 20000,
               "timed-steps": 0}
    for name, value in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.autograd.set_detect_anomaly(True)
    loop, rounds, total, batch = Loop(options), [], options.total_rounds, options.batch
    with loop.timed("all"):
        confidence, label, accuracy = loop.assess()
    first = loop.report(accuracy=accuracy)
    n, threshold = len(label), LAMBDA_ALPHA * sum(confidence) / len(label)
    initial = sum(one >= threshold for one in confidence)
    counts = [initial + tau * ((n - initial) // total) for tau in range(total)]
    if batch <= 2 or initial <= 2 or n - counts[:options.rounds][-1] <= 2:
        raise SystemExit(f"research_loop.py: would not end with {initial} of {n} samples confident and batch size {batch}")
    for count in counts[:options.rounds]:
        with loop.timed("all"):
            with loop.timed("training"):
                steps, restarts = loop.train(*loop.select(confidence, label, count))
            confidence, label, accuracy = loop.assess()
        rounds.append(loop.report(confident=count, steps=steps, loader_restarts=restarts, accuracy=accuracy))
    planned = sum(options.inner_epochs * -(-max(count, n - count) // batch) for count in counts)
    step = sum(one["training_seconds"] for one in rounds) / sum(one["steps"] for one in rounds)
    rest = sum(one["all_seconds"] - one["training_seconds"] for one in rounds) / len(rounds)
    print(json.dumps({"options": vars(options), "torch": torch.__version__, "pictures": n, "initialisation": first,
                      "rounds": rounds, "seconds_a_step": step, "steps_of_all_rounds": planned,
                      "estimated_total_seconds": first["all_seconds"] + planned * step + total * rest}))


if __name__ == "__main__":
    main()
