"""Recomputes the whole-target part of a round dumped by Tributary: weights, prototypes, scores and the selection.

    /usr/bin/python3 tests/parity/round.py DUMP.safetensors

The dump has the pictures and the source models. Features and logits are computed in eval mode, everything after that
in float64 from our own results. Two calls are compared: the first one, whose prototypes start from the labels of each
source, and a later one with the same models, whose prototypes start from the labels of the first selection and whose
weights continue from the first ones. Exits with 0 if everything matches, else with 1.

Integers are compared twice. Labels and order must follow exactly from the dump's scores, with ties broken by index.
Against our scores, differences between scores less than 1e-5 (relative) apart are allowed and counted.
"""
import json
import sys

import torch
from torch.nn import functional as F

sys.dont_write_bytecode = True
from nets import load_source  # noqa: E402
from tensor_file import Comparison, read  # noqa: E402

NEAR = 1e-5
UNLABELLED = -1
PASSES = 2
KERNEL = 2 * 10.0


def near(a, b):
    """Whether scores are so close that rounding may decide their order."""
    return (a - b).abs() <= NEAR * torch.maximum(a.abs(), b.abs())


@torch.no_grad()
def evaluate(source, x, batch=256):
    """Returns phi and z of all pictures."""
    source.eval()
    phi = torch.cat([source.features(part) for part in x.split(batch)])
    return phi, source.classify(phi)


def mixture(w, z):
    """h = softmax(sum_j |w_j| z_j); z [m, n, K]."""
    return F.softmax((w.abs()[:, None, None] * z).sum(0), dim=1)


def optimise_weights(w, z, config):
    """Minimises IM(h) over the target set by plain gradient descent from w."""
    epsilon = config["epsilon"]
    w = w.clone().requires_grad_(True)
    optimiser = torch.optim.SGD([w], lr=config["weight_lr"])
    for _ in range(config["weight_steps"]):
        h = mixture(w, z)
        mean = h.mean(0)
        information = (mean * torch.log(mean + epsilon)).sum() - (h * torch.log(h + epsilon)).sum(1).mean()
        optimiser.zero_grad()
        information.backward()
        optimiser.step()
    return w.detach()


def prototype_posterior(phi, h, labels):
    """Returns q [n, K] of one source after two passes, and the smallest margin among the relabelled samples."""
    selected = labels != UNLABELLED
    classes = h.shape[1]
    closest = 1.0
    for iteration in range(PASSES):
        if iteration > 0:  # only the selected samples are relabelled, and only for the prototypes of this source
            top = q[selected].topk(2, dim=1).values
            closest = min([closest] + ((top[:, 0] - top[:, 1]) / top[:, 0]).tolist())
            labels = torch.where(selected, q.argmax(1), labels)
        distance = []
        for k in range(classes):
            members = phi[labels == k]
            # A class without samples gets the mean of all data, weighted by the predictions of the source.
            prototype = members.mean(0) if len(members) else (h[:, k:k + 1] * phi).sum(0) / h[:, k].sum()
            distance.append((phi - prototype).square().sum(1))
        q = F.softmax(-torch.stack(distance, 1) / KERNEL, dim=1)
    return q, closest


def scores(w, z, q, epsilon):
    normalised = w.abs() / (w.abs().sum() + epsilon)
    return mixture(w, z) * (normalised[:, None, None] * q).sum(0)


def confident_count(initial, total, tau, rounds):
    """N_tau = N_0 + floor((n - N_0) tau / T), at least two for BatchNorm."""
    return min(total, max(2, initial + (total - initial) * tau // rounds))


def select(confidence, count):
    """Indices of the `count` largest values, largest first, with ties broken by index; and of the rest, ascending."""
    order = torch.sort(confidence, descending=True, stable=True).indices
    return order[:count], torch.sort(order[count:]).values


def check_labels(dump, comparison, call, score):
    """Returns the labels to continue with: those of the dump if only near-ties differ."""
    name = f"{call}.pseudo_label"
    comparison.seen.add(name)
    theirs, ours, their_score = dump[name].long(), score.argmax(1), dump[f"{call}.score"].double()
    if theirs.shape != ours.shape or theirs.min() < 0 or theirs.max() >= score.shape[1]:
        comparison.fail(name, "wrong shape or a label outside of 0..K-1")
        return ours
    rows = torch.arange(len(score))
    if not torch.equal(their_score[rows, theirs], their_score.max(1).values):
        comparison.fail(name, f"is not the argmax of {call}.score")
    different = theirs != ours
    excused = different & near(score[rows, theirs], score[rows, ours])
    if excused.any():
        comparison.note(f"{name}: {int(excused.sum())} labels differ between two classes of nearly equal score")
    wrong = rows[different & ~excused]
    if len(wrong):
        comparison.fail(name, f"{len(wrong)} labels differ, first those of samples {wrong[:4].tolist()}")
        return ours
    return theirs


def check_initial_count(dump, comparison, confidence, share):
    """Returns N_0 to continue with: that of the dump if only samples at the threshold differ."""
    name = "first.initial_count"
    comparison.seen.add(name)
    threshold = share * confidence.mean()
    ours, theirs = int((confidence >= threshold).sum()), int(dump[name].item())
    at_threshold = int(near(confidence, threshold).sum())
    if abs(ours - theirs) > at_threshold:
        comparison.fail(name, f"{theirs}, should be {ours}")
        return ours
    if ours != theirs:
        comparison.note(f"{name}: {theirs} instead of {ours}, with {at_threshold} samples at the threshold")
    return theirs


def check_selection(dump, comparison, call, confidence, count):
    """Returns the confident indices to continue with: those of the dump if only near-ties differ."""
    names = f"{call}.confident", f"{call}.unconfident"
    comparison.seen.update(names)
    ours, (their_confident, their_rest) = select(confidence, count), (dump[name].long() for name in names)
    if len(their_confident) != count or len(their_rest) != len(confidence) - count:
        comparison.fail(names[0], f"{len(their_confident)} of {len(confidence)} confident, should be {count}")
        return ours[0]
    everything = torch.cat([their_confident, their_rest]).sort().values
    if not torch.equal(everything, torch.arange(len(confidence))):
        comparison.fail(names[0], "with the unconfident ones it is not every sample once")
        return ours[0]

    exact = select(dump[f"{call}.score"].double().max(1).values, count)
    for name, theirs, by_their_score in zip(names, (their_confident, their_rest), exact):
        if not torch.equal(theirs, by_their_score):
            comparison.fail(name, f"does not follow from {call}.score (most confident first, equal scores by index)")

    # Compare position by position: two orders of nearly equal values have nearly equal values at every position.
    swapped = their_confident != ours[0]
    excused = swapped & near(confidence[their_confident], confidence[ours[0]])
    if (swapped & ~excused).any():
        comparison.fail(names[0], f"{int((swapped & ~excused).sum())} places hold a sample of another confidence")
        return ours[0]
    # The selection decides the rest, too; samples that only one side selects must be as confident as the border.
    border = confidence[ours[0][-1]]
    moved = their_rest[torch.isin(their_rest, ours[0])]
    if not near(confidence[moved], border).all():
        comparison.fail(names[1], "holds samples that are clearly more confident than the border")
        return ours[0]
    if excused.any():
        comparison.note(f"{call}: {int(excused.sum())} of {count} places in another order among nearly equal "
                        f"confidences, {len(moved)} of them across the border")
    return their_confident


def main(path):
    dump, metadata = read(path)
    config = json.loads(metadata["config"])
    comparison = Comparison(dump)
    descriptions = config["sources"]
    m, n, rounds = len(descriptions), len(dump["x"]), config["rounds"]

    phi, z = [], []
    for j, description in enumerate(descriptions):
        source = load_source(description, config["classes"], dump.below(f"source.{j}."))
        phi_j, z_j = evaluate(source, dump["x"])
        comparison.check("first features", f"first.phi.{j}", phi_j)
        comparison.check("first logits", f"first.z.{j}", z_j)
        phi.append(phi_j.double())
        z.append(z_j.double())
    z = torch.stack(z)
    h = F.softmax(z, dim=2)

    def call(name, w, labels):
        posteriors = []
        for j in range(m):
            q, closest = prototype_posterior(phi[j], h[j], labels[j])
            comparison.check(f"{name} prototypes", f"{name}.q.{j}", q)
            if closest < NEAR:
                comparison.note(f"{name}.q.{j}: a sample was relabelled on a lead of {closest:.1e} only")
            posteriors.append(q)
        w = optimise_weights(w, z, config)
        score = scores(w, z, torch.stack(posteriors), config["epsilon"])
        comparison.check(f"{name} weights", f"{name}.weights", w)
        comparison.check(f"{name} score", f"{name}.score", score)
        return w, score, score.max(1).values, check_labels(dump, comparison, name, score)

    w, _, confidence, pseudo_label = call("first", torch.full((m,), 1.0 / m, dtype=torch.float64), h.argmax(2))
    comparison.check("first confidence", "first.confidence", confidence)
    if not torch.equal(dump["first.confidence"].double(), dump["first.score"].double().max(1).values):
        comparison.fail("first.confidence", "is not the largest of first.score")
    initial = check_initial_count(dump, comparison, confidence, config["lambda_alpha"])
    confident = check_selection(dump, comparison, "first", confidence, confident_count(initial, n, 1, rounds))

    labels = torch.full((n,), UNLABELLED)
    labels[confident] = pseudo_label[confident]
    _, _, confidence, _ = call("later", w, [labels] * m)
    check_selection(dump, comparison, "later", confidence, confident_count(initial, n, 2, rounds))
    return comparison.report(["x", "source."])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: round.py DUMP.safetensors")
    sys.exit(main(sys.argv[1]))
