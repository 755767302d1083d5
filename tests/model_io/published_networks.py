"""DINOv2, CLIP's image tower and ConvNeXt v2 in plain PyTorch, with timm's names; torchvision has none of them.

Written from the papers and the authors' state dictionaries, independently of the program.
"""
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, tokens, width = x.shape
        q, k, v = (part.reshape(n, tokens, self.heads, -1) for part in self.qkv(x).chunk(3, -1))
        weights = torch.einsum("nqhd,nkhd->nhqk", q, k).div((width // self.heads) ** 0.5).softmax(-1)
        return self.proj(torch.einsum("nhqk,nkhd->nqhd", weights, v).reshape(n, tokens, width))


class LayerScale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * self.gamma


class QuickGelu(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class Mlp(nn.Module):
    def __init__(self, width, activation, grn=None):
        super().__init__()
        self.fc1, self.act, self.fc2 = nn.Linear(width, 4 * width), activation, nn.Linear(4 * width, width)
        self.grn = grn or nn.Identity()

    def forward(self, x):
        return self.fc2(self.grn(self.act(self.fc1(x))))


class VitBlock(nn.Module):
    def __init__(self, width, heads, epsilon, activation, scaled):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, epsilon), nn.LayerNorm(width, epsilon)
        self.attn, self.mlp = Attention(width, heads), Mlp(width, activation)
        self.ls1, self.ls2 = (LayerScale(width) if scaled else nn.Identity() for _ in range(2))

    def forward(self, x):
        x = x + self.ls1(self.attn(self.norm1(x)))
        return x + self.ls2(self.mlp(self.norm2(x)))


class Patches(nn.Module):
    def __init__(self, width, patch, bias):
        super().__init__()
        self.proj = nn.Conv2d(3, width, patch, patch, bias=bias)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class Vit(nn.Module):
    """`features`: "class" token; "both", beside it the mean of the patches; "raw", that mean before the last norm."""

    def __init__(self, size, patch, classes, scaled=False, registers=0, clip=False, features="class"):
        super().__init__()
        width, depth, heads = 192, 12, 3
        epsilon = 1e-5 if clip else 1e-6
        self.features, self.extra = features, 1 + registers
        self.patch_embed = Patches(width, patch, bias=not clip)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        if registers:
            self.reg_token = nn.Parameter(torch.zeros(1, registers, width))
        self.norm_pre = nn.LayerNorm(width, epsilon) if clip else nn.Identity()
        self.blocks = nn.Sequential(*(VitBlock(width, heads, epsilon, QuickGelu() if clip else nn.GELU(), scaled)
                                      for _ in range(depth)))
        self.norm = nn.LayerNorm(width, epsilon)
        self.head = nn.Linear(width * (2 if features == "both" else 1), classes)

    def forward(self, x):
        x = self.patch_embed(x)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        if self.extra > 1:  # registers have no position
            x = torch.cat([x[:, :1], self.reg_token.expand(len(x), -1, -1), x[:, 1:]], 1)
        x = self.blocks(self.norm_pre(x))
        if self.features == "raw":
            return self.head(x[:, self.extra:].mean(1))
        x = self.norm(x)
        phi = x[:, 0]
        if self.features == "both":
            phi = torch.cat([phi, x[:, self.extra:].mean(1)], 1)
        return self.head(phi)


class Grn(nn.Module):
    """Global response normalisation."""

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):  # [n, height, width, channels]
        norm = x.square().sum((1, 2), keepdim=True).sqrt()
        return self.weight * (x * (norm / (norm.mean(-1, keepdim=True) + 1e-6))) + self.bias + x


class OverChannels(nn.LayerNorm):
    def forward(self, x):  # [n, channels, height, width]
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv_dw = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, 1e-6)
        self.mlp = Mlp(width, nn.GELU(), Grn(4 * width))

    def forward(self, x):
        return x + self.mlp(self.norm(self.conv_dw(x).permute(0, 2, 3, 1))).permute(0, 3, 1, 2)


class Stage(nn.Module):
    def __init__(self, before, width, depth):
        super().__init__()
        self.downsample = nn.Identity() if before is None else nn.Sequential(OverChannels(before, 1e-6),
                                                                             nn.Conv2d(before, width, 2, 2))
        self.blocks = nn.Sequential(*(ConvBlock(width) for _ in range(depth)))

    def forward(self, x):
        return self.blocks(self.downsample(x))


class ConvNextV2(nn.Module):
    def __init__(self, classes, widths=(96, 192, 384, 768), depths=(3, 3, 9, 3)):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 4, 4), OverChannels(widths[0], 1e-6))
        self.stages = nn.Sequential(*(Stage(widths[i - 1] if i else None, widths[i], depths[i]) for i in range(4)))
        self.head = nn.ModuleDict({"norm": nn.LayerNorm(widths[-1], 1e-6), "fc": nn.Linear(widths[-1], classes)})

    def forward(self, x):
        return self.head["fc"](self.head["norm"](self.stages(self.stem(x)).mean((2, 3))))
