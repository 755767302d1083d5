"""Data and models for tests of the module: digits, two trained source files, two modules of PyTorch."""
import os
import subprocess
import tempfile
from pathlib import Path

import torch

import tributary

PROGRAM = os.environ["TRIBUTARY_BINARY"]
SHORT = dict(rounds=1, inner_epochs=1, threads=1, device="cpu", progress=False)
# Of the network below: the preprocessing that weights of other programs do not hold.
INPUT = dict(size=32, resize=32, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5), classes=[str(k) for k in range(10)])


def program(*arguments, folder=None):
    """Runs the program and returns its standard output."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"tributary {arguments[0]}: {done.stderr}")
    return done.stdout


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for before, after in ((3, 16), (16, 32)):
            layers += [torch.nn.Conv2d(before, after, 5, 2), torch.nn.BatchNorm2d(after), torch.nn.ReLU()]
        self.body = torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten())
        self.head = torch.nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.body(x))


def trained_net(domain, pictures=400, epochs=3):
    """A network that knows the digits of one domain."""
    torch.manual_seed(1)
    x, y = tributary.digits(domain, pictures, seed=1)
    x, y = (torch.from_numpy(x).permute(0, 3, 1, 2) / 255 - 0.5) / 0.5, torch.from_numpy(y)
    net = Net()
    optimiser = torch.optim.Adam(net.parameters(), 3e-3)
    for step in range(epochs * pictures // 50):
        rows = torch.arange(50 * step, 50 * step + 50) % pictures
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
        optimiser.step()
    return net.eval()


class Fixture:
    """A folder with digits/DOMAIN/… and a.safetensors, b.safetensors."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.path = Path(self._folder.name)
        program("data", "make", "digits", self.path / "digits", "--pictures", 100)
        for name, domain in (("a", "handwriting"), ("b", "street")):
            program("train", "--data", self.path / f"digits/{domain}/train-images.idx", "--architecture", "lenet",
                    "--epochs", 1, "--threads", 1, "--out", self.path / f"{name}.safetensors")
        self.sources = [str(self.path / "a.safetensors"), str(self.path / "b.safetensors")]
        self.target = str(self.path / "digits/signs/train-images.idx")
        self.pixels, self.labels = tributary.digits("signs", 100, seed=1)
