"""ResNet-18 and ResNet-50 in plain PyTorch, with the stride in the 3x3 convolution."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


def conv(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Sequential:
    """A convolution with batch normalisation."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False), nn.BatchNorm2d(outputs)
    )


class Block(nn.Module):
    """A residual block: some convolutions and a shortcut."""

    def __init__(self, inputs: int, width: int, stride: int, *, bottleneck: bool) -> None:
        super().__init__()
        outputs = width * 4 if bottleneck else width
        if bottleneck:
            parts = [conv(inputs, width, 1), conv(width, width, 3, stride), conv(width, outputs, 1)]
        else:
            parts = [conv(inputs, width, 3, stride), conv(width, outputs, 3)]
        # The last normalisation of a block starts at zero: the block is the identity at first, which trains better.
        nn.init.zeros_(parts[-1][1].weight)
        self.body = nn.Sequential(*[layer for part in parts for layer in (part, nn.ReLU(inplace=True))][:-1])
        around = stride != 1 or inputs != outputs
        self.around: nn.Module = conv(inputs, outputs, 1, stride) if around else nn.Identity()
        self.outputs = outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The sum of both paths."""
        return torch.relu(self.body(x) + self.around(x))


class ResNet(nn.Module):
    """Four groups of blocks."""

    def __init__(self, depths: tuple[int, int, int, int], *, bottleneck: bool, classes: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [conv(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, padding=1)]
        width = 64
        for group, depth in enumerate(depths):
            for number in range(depth):
                stride = 2 if group and not number else 1
                block = Block(width, 64 << group, stride, bottleneck=bottleneck)
                layers.append(block)
                width = block.outputs
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(width, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Images to logits."""
        return self.head(self.body(x).mean((2, 3)))


def resnet18(classes: int = 1000) -> ResNet:
    """11.7 million parameters."""
    return ResNet((2, 2, 2, 2), bottleneck=False, classes=classes)


def resnet50(classes: int = 1000) -> ResNet:
    """25.6 million parameters."""
    return ResNet((3, 4, 6, 3), bottleneck=True, classes=classes)


MODELS: dict[str, Callable[[int], ResNet]] = {"resnet18": resnet18, "resnet50": resnet50}
