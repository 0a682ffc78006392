"""The benchmark's models and optimizers in PyTorch."""

import torch
from torch import nn
from torch.nn import functional


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


class Bottleneck(nn.Module):
    """Three convolutions and a shortcut."""

    def __init__(self, inputs, filters, stride):
        super().__init__()
        outputs = 4 * filters
        self.main = nn.Sequential(
            nn.Conv2d(inputs, filters, 1, bias=False), scaled_by_keras(filters), nn.ReLU(),
            nn.Conv2d(filters, filters, 3, stride, 1, bias=False), scaled_by_keras(filters),
            nn.ReLU(), nn.Conv2d(filters, outputs, 1, bias=False), scaled_by_keras(outputs))
        self.shortcut = nn.Identity() if inputs == outputs else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), scaled_by_keras(outputs))

    def forward(self, x):
        return torch.relu(self.main(x) + self.shortcut(x))


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), scaled_by_keras(64), nn.ReLU(),
              nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for filters, depth, first_stride in (64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2):
        for i in range(depth):
            layers.append(Bottleneck(inputs, filters, first_stride if i == 0 else 1))
            inputs = 4 * filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class Transformer(nn.Module):
    """A block of configs/bench_gpt.yaml or vit.yaml, with one product for query, key and value."""

    def __init__(self, width, heads, hidden, bias, epsilon, causal=False, dropout=0.0):
        super().__init__()
        self.heads, self.causal, self.dropout = heads, causal, dropout
        self.norm1 = nn.LayerNorm(width, epsilon, bias=bias)
        self.norm2 = nn.LayerNorm(width, epsilon, bias=bias)
        self.query_key_value = nn.Linear(width, 3 * width, bias)
        self.output = nn.Linear(width, width, bias)
        self.drop = nn.Dropout(dropout) if dropout > 0 else nn.Identity()
        self.dense = nn.Sequential(nn.Linear(width, hidden, bias), nn.GELU(),
                                   nn.Linear(hidden, width, bias))

    def attention(self, x):
        heads = self.query_key_value(x).unflatten(-1, (3, self.heads, -1))
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal,
                                                    dropout_p=self.dropout)
        return self.output(y.transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.drop(self.attention(self.norm1(x)))
        return x + self.drop(self.dense(self.norm2(x)))


class GPT(nn.Module):
    """configs/bench_gpt.yaml."""

    def __init__(self, depth=6, heads=6, width=384, context=256, characters=65):
        super().__init__()
        self.characters = nn.Embedding(characters, width)
        self.places = nn.Parameter(torch.empty(context, width))
        for table in self.characters.weight, self.places:
            nn.init.normal_(table, std=0.02)
        self.blocks = nn.Sequential(*(Transformer(width, heads, 4 * width, False, 1e-5, True)
                                      for _ in range(depth)))
        self.norm = nn.LayerNorm(width, 1e-5, bias=False)

    def forward(self, x):
        y = self.norm(self.blocks(self.characters(x) + self.places))
        return functional.linear(y, self.characters.weight)


class ViT(nn.Module):
    """configs/vit.yaml."""

    def __init__(self, depth=4, heads=4, width=64, dropout=0.1):
        super().__init__()
        self.patches = nn.Conv2d(1, width, 4, 4)
        self.positions = nn.Parameter(torch.empty(49, width))
        nn.init.normal_(self.positions, std=0.02)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*(Transformer(width, heads, 2 * width, True, 1e-6,
                                                  dropout=dropout) for _ in range(depth)))
        self.norm = nn.LayerNorm(width, 1e-6)
        self.logits = nn.Linear(width, 10)

    def forward(self, x):
        steps = self.patches(x).flatten(2).transpose(1, 2)
        return self.logits(self.norm(self.blocks(self.drop(steps + self.positions))).mean(1))


MODELS = {"mlp": mlp, "wide": wide, "convnet": convnet, "resnet20": resnet20, "gpt": GPT,
          "vit": ViT, "resnet50": resnet50, "gpt2": lambda: GPT(12, 12, 768, 1024, 50257)}

WEIGHT_DECAY = {"gpt": 0.1, "gpt2": 0.1, "vit": 0.05}  # of AdamW


def optimizer(workload, parameters, kind):
    """`kind`: fused or foreach, of PyTorch's implementations."""
    form = {kind: True}
    if workload in ("resnet20", "resnet50"):
        return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, nesterov=True,
                               weight_decay=0.0005, **form)
    if workload in WEIGHT_DECAY:
        return torch.optim.AdamW(parameters, lr=0.001, weight_decay=WEIGHT_DECAY[workload], **form)
    return torch.optim.Adam(parameters, lr=0.001, **form)
