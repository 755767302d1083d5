"""The digit networks of the source models, with dropout masks as inputs.

A training step draws random numbers for lambda, the permutation and dropout. The first two are inputs of the step
anyway; with the masks as inputs too, the step is a deterministic function that two programs can compute and compare.
A mask is already scaled: 0 or 1/(1-p).
"""
import torch
from torch import nn
from torch.nn import functional as F


class Kinks:
    """Counts near-ties of ReLU and maximum, where rounding may decide which way the gradient flows.

    One value on the other side of a kink changes the gradients behind it by 1e-3 and more. Neither program is wrong
    then, but a comparison at 1e-5 is meaningless, so the script must know.
    """

    MARGIN = 1e-6

    def __init__(self):
        self.close = 0

    def relu(self, x):
        # Exact zeros are dropped channels: they are zero in every program.
        size = x.detach().abs()
        self.close += int(((size > 0) & (size < self.MARGIN * size.max())).sum())
        return F.relu(x)

    def max_pool_relu(self, x):
        pooled = F.max_pool2d(x, 2)
        windows = x.detach().unfold(2, 2, 2).unfold(3, 2, 2).flatten(4)
        first, second = windows.topk(2, dim=4).values.unbind(4)
        self.close += int(((first > 0) & (first - second < self.MARGIN * first.max())).sum())
        return self.relu(pooled)


class LeNet(nn.Module):
    """3x32x32 -> 1250; one mask [B, 50, 1, 1]."""

    width = 1250
    dropout = (0.5,)

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.kinks = Kinks()

    def forward(self, x, masks):
        x = self.kinks.max_pool_relu(self.conv1(x))
        x = self.conv2(x)
        if masks is not None:
            x = x * masks[0]
        return self.kinks.max_pool_relu(x).flatten(1)


class Dtn(nn.Module):
    """3x32x32 -> 4096; three masks [B, C, 1, 1], each between a BatchNorm and its ReLU."""

    width = 4096
    dropout = (0.1, 0.3, 0.5)

    def __init__(self):
        super().__init__()
        layers = []
        for inputs, outputs in ((3, 64), (64, 128), (128, 256)):
            conv = nn.Conv2d(inputs, outputs, 5, stride=2, padding=2)
            # Two identities take the positions of dropout and ReLU, so that the layers have the research script's
            # numbers.
            layers += [conv, nn.BatchNorm2d(outputs), nn.Identity(), nn.Identity()]
        self.conv_params = nn.Sequential(*layers)
        self.kinks = Kinks()

    def forward(self, x, masks):
        for i in range(3):
            conv, bn = self.conv_params[4 * i:4 * i + 2]
            x = bn(conv(x))
            if masks is not None:
                x = x * masks[i]
            x = self.kinks.relu(x)
        return x.flatten(1)


class Bottleneck(nn.Module):
    """Linear, BatchNorm, dropout with one mask [B, 256]."""

    dropout = 0.5

    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.bn = nn.BatchNorm1d(outputs)

    def forward(self, x, mask):
        x = self.bn(self.linear(x))
        return x if mask is None else x * mask


BACKBONES = {"lenet": LeNet, "dtn": Dtn}


class Source(nn.Module):
    """F, B and the frozen, weight-normalised C of one source."""

    def __init__(self, architecture, feature_width, classes):
        super().__init__()
        self.backbone = BACKBONES[architecture]()
        self.bottleneck = Bottleneck(self.backbone.width, feature_width)
        self.classifier = nn.utils.weight_norm(nn.Linear(feature_width, classes))
        self.classifier.requires_grad_(False)
        self.dropout = self.backbone.dropout + (self.bottleneck.dropout,)

    def features(self, x, masks=None):
        """phi [B, feature_width]. In train mode one mask for every rate in `dropout`; in eval mode none."""
        if self.training != (masks is not None):
            raise ValueError("masks belong to train mode, and train mode needs them")
        if masks is None:
            return self.bottleneck(self.backbone(x, None), None)
        if len(masks) != len(self.dropout):
            raise ValueError(f"{len(masks)} masks for {len(self.dropout)} dropout layers")
        return self.bottleneck(self.backbone(x, masks[:-1]), masks[-1])

    def classify(self, phi):
        return self.classifier(phi)

    def trainable(self):
        """(key, parameter) of F and B."""
        return [(key, parameter) for key, parameter in self.named_parameters() if parameter.requires_grad]


def load_source(description, classes, state):
    """A source of a dump's config (`architecture`, `feature_width`) with the parameters and buffers of `state`."""
    source = Source(description["architecture"], description["feature_width"], classes)
    missing, unexpected = source.load_state_dict(state, strict=False)
    if missing or unexpected:
        raise SystemExit(f"a {description['architecture']} source lacks {missing} and has {unexpected} too much")
    return source


def adversary(width):
    """The joint discriminator: one logit from the concatenated features of all sources."""
    return nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 1))
