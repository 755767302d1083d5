#!/usr/bin/env python3
"""Checks the Python module in one process with work of PyTorch's own, on a GPU.

    PYTHONPATH=build/python python3 bench/python_cuda.py [--device cuda] [--first torch|tributary|both]

Imports PyTorch, multiplies matrices on the device, imports tributary, adapts two small networks to drawn digits there,
compares the result with its own predictions and with its torch module, fine-tunes that for one epoch, searches over
rounds with scikit-learn if that is there, and multiplies again. With `--first tributary`, the module is imported first; `both` (the default) runs one process for each order.
Prints one line per check; exits with 1 if one fails.
"""
import argparse
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

INPUT = dict(size=32, resize=32, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5), classes=[str(k) for k in range(10)])
DOMAINS = ["handwriting", "street", "signs"]
FAILED = []


def check(name, holds, value=""):
    print(f"{'ok  ' if holds else 'FAIL'}  {name}{f': {value}' if value != '' else ''}", flush=True)
    if not holds:
        FAILED.append(name)


def product(device):
    """A matrix product of PyTorch's own on the device, and its largest relative error."""
    import torch
    torch.manual_seed(3)
    a, b = torch.randn(300, 400, dtype=torch.float64), torch.randn(400, 200, dtype=torch.float64)
    made = (a.float().to(device) @ b.float().to(device)).cpu()
    exact = a @ b
    return made, ((made - exact).abs().max() / exact.abs().max()).item()


def network(domain, device):
    """A network trained in PyTorch, on the device, on the digits of one domain."""
    import torch
    import tributary
    torch.manual_seed(1)
    layers = []
    for before, after in ((3, 16), (16, 32)):
        layers += [torch.nn.Conv2d(before, after, 5, 2), torch.nn.BatchNorm2d(after), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(128, 10))
    net = net.to(device)
    pixels, labels = tributary.digits(domain, 1000, seed=1)
    x = ((torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255 - 0.5) / 0.5).to(device)
    y = torch.from_numpy(labels).to(device)
    optimiser = torch.optim.Adam(net.parameters(), 3e-3)
    for step in range(140):
        rows = torch.arange(50 * step, 50 * step + 50) % 1000
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
        optimiser.step()
    net.eval()
    with torch.no_grad():
        right = (net(x).argmax(1) == y).float().mean().item()
    check(f"PyTorch trains a network for {domain} on {device}", right > 0.5, f"accuracy {right:.3f}")
    return net


def state(device):
    """Settings of PyTorch that a run must leave alone."""
    import torch
    values = {"threads": torch.get_num_threads(), "benchmark": torch.backends.cudnn.benchmark,
              "tf32": torch.backends.cuda.matmul.allow_tf32, "autocast": torch.is_autocast_enabled(),
              "gradients": torch.is_grad_enabled(),
              "optimiser of TorchScript": torch._C._get_graph_executor_optimize(),
              "generator": hash(bytes(torch.get_rng_state().tolist()))}
    if device != "cpu":
        values["device"] = torch.cuda.current_device()
        values["stream"] = torch.cuda.current_stream().cuda_stream
        values["generator of the device"] = hash(bytes(torch.cuda.get_rng_state().tolist()))
    return values


def run_equals_its_predictions(run, pixels):
    """The file that the run wrote against the predictions of the adapted model for the same pictures."""
    with open(run.folder / "predictions.csv", newline="", encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    again = run.predict(pixels)
    same = sum(row["class"] == name for row, name in zip(written, again.classes)) / len(pixels)
    apart = max(abs(float(row["confidence"]) - p) for row, p in zip(written, again.probabilities.max(1).tolist()))
    return again, same, apart


def fine_tune(module, x, y):
    """The loss before and after one epoch of fine-tuning."""
    import torch

    def loss(rows):
        return torch.nn.functional.nll_loss(module(x[rows]).clamp_min(1e-9).log(), y[rows])
    with torch.no_grad():
        before = loss(slice(None)).item()
    optimiser = torch.optim.SGD(module.parameters(), 1e-3)
    for rows in torch.arange(len(x)).view(-1, 20):
        optimiser.zero_grad()
        loss(rows).backward()
        optimiser.step()
    with torch.no_grad():
        return before, loss(slice(None)).item()


def search(nets, pixels, labels, options):
    """scikit-learn's clone and GridSearchCV with the version that is there: those from 1.6 on ask for tags."""
    try:
        import sklearn
        from sklearn.base import is_classifier
        from sklearn.model_selection import GridSearchCV
    except ImportError:
        print("      no scikit-learn", flush=True)
        return
    import torch
    import tributary
    estimator = tributary.MultiSourceAdapter(nets, **options)
    found = GridSearchCV(estimator, {"rounds": [1, 2]}, cv=2).fit(pixels, labels)
    x = torch.from_numpy(pixels).to(options["device"])
    check("its estimator predicts tensors of the device", bool((found.predict(x) == found.predict(pixels)).all()))
    check(f"scikit-learn {sklearn.__version__} searches over rounds", is_classifier(estimator) and
          found.best_score_ > 0.2, f"{found.best_params_}, accuracy {found.best_score_:.3f}")


def check_process(device, first):
    if first == "torch":
        import torch
        made, error = product(device)
        check("PyTorch multiplies on the device before tributary is imported", error < 1e-5, f"{error:.1e}")
    import tributary
    import torch
    print(f"      tributary {tributary.__version__}, PyTorch {torch.__version__}", flush=True)
    torch.backends.cudnn.allow_tf32 = False  # so that the figures below can be compared
    pixels, labels = tributary.digits("postal", 200, seed=2)
    short = dict(device=device, inner_epochs=1, rounds=2, progress=False, **INPUT)
    if first == "tributary":
        run = tributary.adapt([network(domain, "cpu") for domain in DOMAINS], pixels, **short)
        check("adapts on the device before PyTorch used it", len(run.rounds) == 3, f"{len(run.rounds)} rounds")
        made, error = product(device)
        check("PyTorch multiplies on the device after an adaptation", error < 1e-5, f"{error:.1e}")

    nets = [network(domain, device) for domain in DOMAINS]
    before = state(device)
    run = tributary.adapt(nets, pixels, test=(pixels, labels), precision="float32", **short)
    changed = [name for name, value in state(device).items() if value != before[name]]
    check("settings of PyTorch are left alone", not changed, ", ".join(changed))
    accuracies = [round_["accuracy"] for round_ in run.rounds]
    check(f"adapts modules on {device}", len(run.rounds) == 3 and accuracies[-1] > 0.4,
          "accuracies of the rounds " + " ".join(f"{accuracy:.3f}" for accuracy in accuracies))
    check("the weights of the sources sum to one", abs(sum(run.weights.values()) - 1) < 1e-4,
          " ".join(f"{weight:.3f}" for weight in run.weights.values()))

    again, same, apart = run_equals_its_predictions(run, pixels)
    check("the module predicts again what the run wrote", same >= 0.99 and apart < 1e-4,
          f"{100 * same:.1f} % of the classes, confidence apart by {apart:.1e}")
    x, y = torch.from_numpy(pixels).to(device), torch.from_numpy(labels).to(device)
    tensors = run.predict(x).probabilities
    check("tensors in give tensors out, on the same device", tensors.device == x.device, tensors.device)
    apart = (tensors.cpu() - torch.from_numpy(again.probabilities)).abs().max().item()
    check("tensors and arrays give the same", apart < 1e-6, f"{apart:.1e}")

    module = run.torch_module().to(device)
    with torch.no_grad():
        apart = (module(x).cpu() - torch.from_numpy(again.probabilities)).abs().max().item()
    check(f"torch_module works on {device} and gives the same probabilities", apart < 1e-5, f"{apart:.1e}")
    start, end = fine_tune(module, x, y)
    check("one epoch of fine-tuning lowers its loss", end < start, f"{start:.4f} to {end:.4f}")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        run.export_safetensors(path)
        other = tributary.Model(path, device="cpu", trust=True).predict(pixels)
    apart = float(abs(other.probabilities - again.probabilities).max())
    check("the CPU gives the same probabilities", apart < 1e-3, f"{apart:.1e}")

    mixed = tributary.adapt(nets, pixels, **short)  # in the device's own precision, bfloat16 on a GPU
    _, same, apart = run_equals_its_predictions(mixed, pixels)
    check("so does a run in the default precision", same >= 0.97 and apart < 0.1,
          f"{100 * same:.1f} % of the classes, confidence apart by {apart:.1e}")

    search(nets, pixels, labels, short)

    after, error = product(device)
    check("PyTorch multiplies on the device after all of this", error < 1e-5, f"{error:.1e}")
    check("with the same bits as before", torch.equal(made, after))
    if device != "cpu":
        print(f"      all of this on {torch.cuda.get_device_name()}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--first", choices=("torch", "tributary", "both"), default="both", help="what is imported first")
    options = parser.parse_args()
    if options.first == "both":
        ends = []
        for first in ("torch", "tributary"):
            print(f"{first} first", flush=True)
            ends.append(subprocess.run([sys.executable, __file__, "--device", options.device, "--first", first]).returncode)
        print("all checks hold" if not any(ends) else f"FAILED: exit codes {ends}")
        sys.exit(1 if any(ends) else 0)
    check_process(options.device, options.first)
    print(f"{len(FAILED)} checks failed", flush=True)
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
