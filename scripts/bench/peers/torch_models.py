"""The benchmark's models and optimizers in PyTorch."""

import torch
from torch import nn


def scaled_by_keras(channels, scale=True):
    """Batch normalization with Keras's defaults."""
    norm = nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)
    norm.weight.requires_grad_(scale)
    return norm


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def wide():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 4096), nn.ReLU(), nn.Linear(4096, 4096),
                         nn.ReLU(), nn.Linear(4096, 10))


def convnet():
    def layer(inputs, filters, size, stride, padding):
        return [nn.Conv2d(inputs, filters, size, stride, padding, bias=False),
                scaled_by_keras(filters, scale=False), nn.ReLU()]

    return nn.Sequential(
        *layer(1, 12, 3, 1, 1), *layer(12, 24, 6, 2, 0), *layer(24, 32, 6, 2, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 256), nn.ReLU(), nn.Dropout(0.5),
        nn.Linear(256, 10))


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, inputs, filters, stride):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(inputs, filters, 3, stride, 1, bias=False), scaled_by_keras(filters),
            nn.ReLU(), nn.Conv2d(filters, filters, 3, 1, 1, bias=False), scaled_by_keras(filters))
        self.shortcut = nn.Identity() if stride == 1 else nn.Sequential(
            nn.Conv2d(inputs, filters, 1, stride, bias=False), scaled_by_keras(filters))

    def forward(self, x):
        return torch.relu(self.main(x) + self.shortcut(x))


def resnet20():
    layers = [nn.Conv2d(1, 16, 3, 1, 1, bias=False), scaled_by_keras(16), nn.ReLU()]
    inputs = 16
    for filters, first_stride in (16, 1), (32, 2), (64, 2):
        for stride in first_stride, 1, 1:
            layers.append(Block(inputs, filters, stride))
            inputs = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


MODELS = {"mlp": mlp, "wide": wide, "convnet": convnet, "resnet20": resnet20}


def optimizer(workload, parameters, kind):
    """`kind`: fused or foreach, of PyTorch's implementations."""
    form = {kind: True}
    if workload == "resnet20":
        return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, nesterov=True,
                               weight_decay=0.0005, **form)
    return torch.optim.Adam(parameters, lr=0.001, **form)
