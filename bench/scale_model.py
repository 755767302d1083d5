#!/usr/bin/env python3
"""Predicts time, memory and traffic of selective self-training on DomainNet and on 100 million pictures.

    bench/scale_model.py                        prints the tables of docs/scale.md
    bench/scale_model.py --write docs/scale.md  writes them to the page
    bench/scale_model.py --check docs/scale.md  exits with 1 if the page differs

All results follow from the constants at the top. MEASURED ones name their command, ASSUMED ones describe a network that
has not been measured, and the rest are properties of the data and of the method
(tributary/methods/selective/selective_options.h).
"""
import argparse
import math
import pathlib
import sys

# MEASURED on one H200 (LibTorch 2.11, bfloat16, CUDA graphs):
#   tributary bench speed --architecture resnet50 --sources 5 --batch B
# Pictures per second of a training step, by rows per pass; a picture counts once per source and pass.
TRAINING_RATE = {4: 2430, 8: 3226, 16: 3949, 32: 4403}
EVALUATION_RATE = 15076  # pictures per second through one source, same command
DECODING_RATE = 26765  # JPEGs per second on 16 threads, docs/performance.md
COPY_BANDWIDTH = 4171e9  # bytes per second read and written by a large copy, docs/performance.md
WEIGHT_STEP_SECONDS = 3.7 / (21 * 2000)  # of the domain weights on a small set: Office-31 in docs/performance.md
GPU_BYTES = 139 * 2**30

# ASSUMED: a node of eight GPUs, each with NVLink within the node and one adapter of 400 Gb/s to other nodes.
NODE = 8
NVLINK = 450e9  # bytes per second and GPU, one way
ADAPTER = 50e9  # bytes per second and GPU, one way; all eight of a node in parallel
LATENCY = {1: 0.0, 8: 20e-6, 64: 40e-6}  # seconds of an all-reduce or all-gather of a few kilobytes, by number of GPUs

# The method: docs/method.md, the defaults of SelectiveOptions and the paper's row for DomainNet.
ROUNDS, INNER_EPOCHS, BATCH, PASSES, WEIGHT_STEPS = 10, 3, 32, 3, 2000
SOURCES, CLASSES, FEATURES, BACKBONE = 5, 345, 256, 2048
# N_0 / n depends on the data. This is the paper's example (Office-31, D,W -> A).
FIRST_SHARE = 2112 / 2817

# Pictures of the cleaned lists DOMAIN_train.txt plus DOMAIN_test.txt. QUOTED, not counted; only their sums, 409,832 +
# 176,743, were compared with a published number.
DOMAINNET = {"clipart": 33525 + 14604, "infograph": 36023 + 15582, "painting": 50416 + 21850,
             "quickdraw": 120750 + 51750, "real": 120906 + 52041, "sketch": 48212 + 20916}
LARGE = 100_000_000
PICTURE_BYTES = 3 * 256 * 256  # decoded
JPEG_BYTES = 3.68e9 / DOMAINNET["painting"]  # QUOTED: listed size of the domain with the largest files
HOST_BYTES = 32 + 64 + 6 * 8  # per picture: a name of 64 characters, six indices or labels of 64 bits
WHOLE_BYTES = 6 * 8  # per picture on every GPU: labels, the selection in order, confidences while they are compared


def resnet50():
    """Per convolution: parameters including its BatchNorm, output channels, and output values per picture."""
    layers = [(7 * 7 * 3 * 64, 64, 112)]
    inputs = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width, side = 64 << stage, 56 >> stage
        for block in range(blocks):
            first = side * 2 if block == 0 and stage > 0 else side  # the 3 x 3 convolution has the stride
            layers += [(inputs * width, width, first), (9 * width * width, width, side), (width * 4 * width, 4 * width, side)]
            if block == 0:
                layers.append((inputs * 4 * width, 4 * width, side))
            inputs = 4 * width
    return [(weights + 2 * channels, channels, channels * side * side) for weights, channels, side in layers]


LAYERS = resnet50()
PARAMETERS = sum(parameters for parameters, _, _ in LAYERS)
CHANNELS = sum(channels for _, channels, _ in LAYERS)
ACTIVATIONS = sum(values for _, _, values in LAYERS)
HEAD = BACKBONE * FEATURES + FEATURES + 2 * FEATURES
assert (len(LAYERS), CHANNELS, PARAMETERS) == (53, 26560, 23508032), "not ResNet-50"
assert sum(DOMAINNET.values()) == 586575


# Parameters, momentum and gradients; activations of a step of 32 rows, values and gradients in bfloat16.
PARAMETER_BYTES = 3 * SOURCES * (PARAMETERS + HEAD) * 4
ACTIVATION_BYTES = PASSES * BATCH * SOURCES * 2 * ACTIVATIONS * 2
FIXED_BYTES = PARAMETER_BYTES + ACTIVATION_BYTES


def latency(gpus):
    return LATENCY[min(number for number in LATENCY if number >= gpus)]


class Course:
    """The work of one adaptation to `pictures` pictures."""

    def __init__(self, pictures, batch=BATCH):
        self.pictures, self.steps, self.seen = pictures, 0, 0
        first = round(FIRST_SHARE * pictures)
        for number in range(1, ROUNDS + 1):
            confident = first + (pictures - first) * number // ROUNDS
            steps = INNER_EPOCHS * math.ceil(max(confident, pictures - confident) / batch)
            passes = PASSES if confident < pictures else PASSES - 1  # no sample is unconfident in the last round
            self.steps += steps
            self.seen += steps * batch * passes * SOURCES
        self.full_steps = self.seen / (batch * PASSES * SOURCES)  # in units of steps with three passes

    def evaluation(self, gpus):
        return (ROUNDS + 1) * self.pictures * SOURCES / EVALUATION_RATE / gpus

    def weights(self, gpus=1):
        """Lower bound for the seconds of the domain weights: logits twice and eight times [n, K] per step, of each GPU's
        own rows, and two all-reduces."""
        moved = (2 * SOURCES + 8) * self.pictures * CLASSES * 4 / gpus
        return (ROUNDS + 1) * WEIGHT_STEPS * (max(WEIGHT_STEP_SECONDS, moved / COPY_BANDWIDTH) + 2 * latency(gpus))

    def features(self):
        return self.pictures * SOURCES * FEATURES * 4

    def logits(self):
        return self.pictures * SOURCES * CLASSES * 4

    def state(self):
        """Logits, posteriors, probabilities, scores and three [n, K] matrices for the prototypes."""
        return (2 * SOURCES + 5) * self.pictures * CLASSES * 4

    def memory(self, gpus):
        """Bytes on each of `gpus` GPUs, which keep their own rows of everything but a few numbers per picture."""
        return FIXED_BYTES + (self.state() + self.features()) / gpus + self.pictures * WHOLE_BYTES


class Step:
    """Seconds and bytes of one training step on `gpus` GPUs."""

    def __init__(self, gpus, batch, by_sources=False):
        self.gpus, self.batch, self.by_sources = gpus, batch, by_sources
        self.rows = batch if by_sources else batch // gpus
        own = math.ceil(SOURCES / gpus) if by_sources else SOURCES
        self.compute = PASSES * self.rows * own / TRAINING_RATE[self.rows]
        wire = NVLINK if gpus <= NODE else min(NVLINK, ADAPTER * NODE)
        around = 2 * (gpus - 1) / gpus  # share of the bytes that each GPU sends in a ring all-reduce
        passes = PASSES * SOURCES
        if gpus == 1:
            self.norms = self.feature_bytes = self.gradient_bytes = self.norm_bytes = self.exposed = 0
        elif by_sources:
            self.norms = self.gradient_bytes = self.norm_bytes = 0
            self.feature_bytes = passes * batch * BACKBONE * 4
            self.exposed = passes * LATENCY[8] + self.feature_bytes / wire
        else:
            self.norm_bytes = passes * ((2 * CHANNELS + len(LAYERS)) * 4 * (gpus - 1) + 2 * CHANNELS * 4 * around)
            self.norms = passes * 2 * len(LAYERS) * LATENCY[gpus] + self.norm_bytes / wire
            self.feature_bytes = passes * self.rows * BACKBONE * 4 * (gpus - 1)
            self.gradient_bytes = SOURCES * PARAMETERS * 4 * around
            # Gradients of a source are reduced while those of the next are computed; the last reduction is exposed.
            self.exposed = self.gradient_bytes / wire / SOURCES + self.feature_bytes / wire + passes * LATENCY[gpus]
        self.sent = self.feature_bytes + self.gradient_bytes + self.norm_bytes
        self.best = max(self.compute, self.norms) + self.exposed
        self.worst = self.compute + self.norms + self.exposed


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---" if i == 0 else "---:" for i in range(len(head))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def gigabytes(number):
    return f"{number / 1e9:,.1f}"


def hours(seconds):
    return f"{seconds / 3600:,.2f}" if seconds < 36000 else f"{seconds / 3600:,.1f}"


def span(low, high, text):
    return text(low) if text(low) == text(high) else f"{text(low)} to {text(high)}"


def single():
    rows, step = [], Step(1, BATCH)
    for name, pictures in DOMAINNET.items():
        course = Course(pictures)
        training = course.full_steps * step.compute
        rows.append([name, f"{pictures:,}", f"{course.steps:,}", hours(training), f"{course.evaluation(1) / 60:.1f}",
                     f"{course.weights() / 60:.1f}", hours(training + course.evaluation(1) + course.weights()),
                     gigabytes(course.features()), gigabytes(course.logits()), gigabytes(course.state()),
                     gigabytes(pictures * PICTURE_BYTES)])
    return table(["target", "pictures", "steps", "training, h", "evaluation, min", "weights, min, lower bound", "total, h",
                  "features, GB", "logits, GB", "all [n, K], GB", "pictures, GB"], rows)


def steps():
    rows, one = [], Step(1, BATCH)
    plans = [("1", one), ("5, by sources", Step(5, BATCH, by_sources=True)), ("8, by rows", Step(8, BATCH)),
             ("8, by rows, batch 256", Step(8, 256)), ("64, by rows, batch 256", Step(64, 256)),
             ("64, by rows, batch 2,048", Step(64, 2048))]
    for name, step in plans:
        speed = [step.batch / BATCH * one.compute / seconds for seconds in (step.worst, step.best)]
        rows.append([name, str(step.rows), f"{step.compute * 1e3:.1f}", f"{step.norms * 1e3:.1f}", f"{step.exposed * 1e3:.1f}",
                     span(step.best, step.worst, lambda s: f"{s * 1e3:.0f}"), span(*speed, lambda s: f"{s:.1f}"),
                     f"{step.norm_bytes / 1e6:,.0f}", f"{step.feature_bytes / 1e6:,.1f}", f"{step.gradient_bytes / 1e6:,.0f}"])
    return table(["GPUs", "rows per GPU and pass", "compute, ms", "BatchNorm reductions, ms", "other exposed communication, ms", "step, ms",
                  "speed-up in pictures/s", "sent: BatchNorm, MB", "features, MB", "gradients, MB"], rows)


def whole(course, step):
    """Best-case and worst-case seconds of an adaptation."""
    rest = course.evaluation(step.gpus) + course.weights(step.gpus)
    return [course.full_steps * seconds + rest for seconds in (step.best, step.worst)]


def targets():
    plans = [(Step(1, BATCH), BATCH), (Step(5, BATCH, by_sources=True), BATCH), (Step(8, BATCH), BATCH),
             (Step(64, 256), 256)]
    rows, sums = [], [[0, 0] for _ in plans]
    for name, pictures in DOMAINNET.items():
        cells = []
        for column, (step, batch) in enumerate(plans):
            low, high = whole(Course(pictures, batch), step)
            sums[column] = [sums[column][0] + low, sums[column][1] + high]
            cells.append(span(low, high, hours))
        rows.append([name, *cells])
    rows.append(["all six, sequentially", *(span(low, high, hours) for low, high in sums)])
    alone = [whole(Course(pictures), plans[0][0])[0] for pictures in DOMAINNET.values()]
    rows.append(["all six, one GPU each", hours(max(alone)) + " on 6 GPUs", "", "", ""])
    return table(["hours", "1 GPU", "5 GPUs, by sources", "8 GPUs, by rows", "64 GPUs, by rows, batch 256"], rows)


def large():
    rows = []
    for gpus in (1, 8, 64):
        step = Step(gpus, BATCH * gpus)
        course = Course(LARGE, BATCH * gpus)
        low, high = (course.full_steps * seconds for seconds in (step.best, step.worst))
        read = EVALUATION_RATE / SOURCES * gpus
        rows.append([str(gpus), f"{BATCH * gpus:,}", span(low, high, lambda s: f"{s / 86400:.1f}"),
                     hours(course.evaluation(gpus)), hours(course.weights(gpus)), f"{read:,.0f}", gigabytes(read * JPEG_BYTES),
                     f"{read / DECODING_RATE * 16:,.0f}"])
    return table(["GPUs", "batch", "training, days", "evaluation, h", "weights, h", "pictures read/s in evaluation",
                  "GB/s of JPEGs", "decoding threads"], rows)


def memory():
    gpus = (1, 8, 64)
    rows = []
    for name, pictures in (("real, the largest of DomainNet", DOMAINNET["real"]), ("1 million", 1_000_000),
                           ("2 million", 2_000_000), ("10 million", 10_000_000), ("100 million", LARGE)):
        course = Course(pictures)
        totals = [course.memory(number) for number in gpus]
        rows.append([name, gigabytes(course.features()), gigabytes(course.features() / 2), gigabytes(course.state()),
                     gigabytes(pictures * WHOLE_BYTES),
                     *(gigabytes(total) + ("" if total < GPU_BYTES else " (too much)") for total in totals),
                     gigabytes(pictures * HOST_BYTES)])
    probe = Course(1_000_000)

    def most(number, features):
        """Million pictures that fit."""
        each = (probe.state() + (probe.features() if features else 0)) / number + 1_000_000 * WHOLE_BYTES
        return f"{(GPU_BYTES - FIXED_BYTES) / each:,.1f}"

    head = ["pictures", "features, GB", "in bfloat16, GB", "all [n, K], GB", "whole on every GPU, GB",
            *(f"total on {'one GPU' if number == 1 else f'each of {number}'}, GB" for number in gpus),
            "names and indices on the host, GB"]
    return table(head, rows) + (
        f"\n\nEvery GPU also has parameters, momentum and gradients ({gigabytes(PARAMETER_BYTES)} GB) and the activations "
        f"of 32 rows ({gigabytes(ACTIVATION_BYTES)} GB). GPUs of\n{GPU_BYTES / 1e9:.0f} GB hold, in million pictures of "
        f"{CLASSES} classes and {SOURCES} sources: one {most(1, True)}, eight {most(8, True)}, 64 {most(64, True)}; with "
        f"the features in a\nfile {most(1, False)}, {most(8, False)} and {most(64, False)}.")


TABLES = {"single": single, "steps": steps, "targets": targets, "large": large, "memory": memory}


def with_tables(page):
    """The page with all tables between their markers replaced."""
    for name, make in TABLES.items():
        begin, end = f"<!-- {name}: bench/scale_model.py -->\n", f"<!-- end of {name} -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            sys.exit(f"scale_model.py: the page lacks the markers of table {name}: {begin.strip()} and {end}")
        before, rest = page.split(begin)
        page = before + begin + make() + "\n" + end + rest.split(end)[1]
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("--write", type=pathlib.Path, metavar="PAGE")
    options = parser.parse_args()
    if options.write:
        options.write.write_text(with_tables(options.write.read_text()))
    elif options.check:
        page = options.check.read_text()
        if with_tables(page) != page:
            sys.exit(f"scale_model.py: the tables of {options.check} are outdated; update them with --write {options.check}")
    else:
        print("\n\n".join(f"{name}\n{make()}" for name, make in TABLES.items()))


if __name__ == "__main__":
    main()
