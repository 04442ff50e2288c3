#!/usr/bin/env python3
"""The two trainings of loss_curves.py in PyTorch, written from the configs: same data, model, first weights'
distribution, augmentation, optimizer and learning rate; only the random numbers are others.

    torch_training.py fashion_resnet18 --steps 500 --seed 1

Prints a JSON list with the loss of every step. On a GPU in bf16 (autocast), on a CPU in fp32. PyTorch >= 1.12.
"""

import argparse
import contextlib
import gzip
import json
import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

LICENCES = Path("/usr/share/common-licenses")


def read_idx(folder, name, offset, shape):
    path = folder / f"{name}.gz"
    raw = gzip.decompress(path.read_bytes()) if path.exists() else (folder / name).read_bytes()
    return torch.from_numpy(np.frombuffer(raw, np.uint8, offset=offset).copy()).reshape(shape)


def convolution(inputs, outputs, size, stride=1):
    layer = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return layer


class Block(nn.Module):
    def __init__(self, inputs, channels, stride):
        super().__init__()
        self.body = nn.Sequential(
            convolution(inputs, channels, 3, stride), nn.BatchNorm2d(channels), nn.ReLU(),
            convolution(channels, channels, 3), nn.BatchNorm2d(channels))
        self.skip = nn.Identity()
        if stride != 1 or inputs != channels:
            self.skip = nn.Sequential(convolution(inputs, channels, 1, stride), nn.BatchNorm2d(channels))

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


def resnet18():
    """With the stem for small images: configs/fashion_resnet18.yaml."""
    layers = [convolution(1, 64, 3), nn.BatchNorm2d(64), nn.ReLU()]
    inputs = 64
    for stage, channels in enumerate((64, 128, 256, 512)):
        for block in range(2):
            layers.append(Block(inputs, channels, 2 if block == 0 and stage > 0 else 1))
            inputs = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


class Attention(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(channels, 3 * channels)
        self.projection = nn.Linear(channels, channels)

    def forward(self, x):
        batch, tokens, channels = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mask = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.transpose(-2, -1) / math.sqrt(channels // self.heads)).masked_fill(mask, -math.inf)
        y = torch.softmax(scores.float(), dim=-1).to(v.dtype) @ v
        return self.projection(y.transpose(1, 2).reshape(batch, tokens, channels))


class Layer(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.attention_norm = nn.LayerNorm(channels)
        self.attention = Attention(channels, heads)
        self.mlp_norm = nn.LayerNorm(channels)
        self.widen = nn.Linear(channels, 4 * channels)
        self.narrow = nn.Linear(4 * channels, channels)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.narrow(F.gelu(self.widen(self.mlp_norm(x)), approximate="tanh"))


class Gpt(nn.Module):
    """configs/gpt_text.yaml, without dropout."""

    LAYERS, HEADS, CHANNELS, CONTEXT = 4, 4, 128, 128

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(256, self.CHANNELS)
        self.positions = nn.Embedding(self.CONTEXT, self.CHANNELS)
        self.layers = nn.Sequential(*(Layer(self.CHANNELS, self.HEADS) for _ in range(self.LAYERS)))
        self.norm = nn.LayerNorm(self.CHANNELS)
        for name, module in self.named_modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                into_stream = name.endswith(("projection", "narrow"))
                nn.init.normal_(module.weight, std=0.02 / math.sqrt(2 * self.LAYERS) if into_stream else 0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.weight
        return F.linear(self.norm(self.layers(x)), self.tokens.weight)


def epochs_of(samples, batch, generator):
    """Batches of indices, every epoch in a new order, without the last incomplete one."""
    while True:
        yield from torch.randperm(samples, generator=generator).split(batch)[: samples // batch]


def crop_and_flip(images, padding, generator):
    """Shifted by up to `padding` pixels, black beyond the edge; every second image mirrored."""
    count, side = images.shape[0], images.shape[-1]
    padded = F.pad(images, (padding,) * 4)
    shifts = torch.randint(2 * padding + 1, (2, count), generator=generator)
    columns = torch.arange(side).expand(count, side)
    mirrored = torch.rand(count, generator=generator) < 0.5
    columns = torch.where(mirrored[:, None], side - 1 - columns, columns) + shifts[1][:, None]
    rows = torch.arange(side).expand(count, side) + shifts[0][:, None]
    return padded[torch.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]


def image_batches(folder, batch, generator):
    images = read_idx(folder, "train-images-idx3-ubyte", 16, (60000, 28, 28))
    labels = read_idx(folder, "train-labels-idx1-ubyte", 8, (60000,)).long()
    mean, deviation = (images.float() / 255).mean(), (images.float() / 255).std()
    for chosen in epochs_of(len(images), batch, generator):
        changed = crop_and_flip(images[chosen], 2, generator).float() / 255
        yield ((changed - mean) / deviation)[:, None], labels[chosen]


def text_batches(batch, generator):
    """Windows of the text, all files once, in the order of their names; its last tenth is kept for evaluation."""
    files = sorted({path.resolve() for path in LICENCES.rglob("*") if path.is_file()}, key=str)
    text = np.frombuffer(b"".join(path.read_bytes() for path in files), np.uint8)
    text = torch.from_numpy(text[: int(len(text) * 0.9)].astype(np.int64))
    windows = (len(text) - 1) // Gpt.CONTEXT
    for chosen in epochs_of(windows, batch, generator):
        places = chosen[:, None] * Gpt.CONTEXT + torch.arange(Gpt.CONTEXT)
        yield text[places], text[places + 1]


def learning_rate(step, steps, base, warmup, last_fraction):
    if step < warmup:
        return base * (step + 1) / warmup
    progress = (step - warmup) / (steps - warmup)
    return base * (last_fraction + (1 - last_fraction) * 0.5 * (1 + math.cos(math.pi * progress)))


def split_decay(model, weight_decay):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    return [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]


def fashion_resnet18(options, generator):
    model = resnet18()
    optimizer = torch.optim.SGD(split_decay(model, 5e-4), lr=0.1, momentum=0.9, nesterov=True)
    batches = image_batches(options.fashion_mnist, 256, generator)
    return model, optimizer, batches, {"base": 0.1, "warmup": 100, "last_fraction": 0.0}, 0.0


def gpt_text(_, generator):
    model = Gpt()
    optimizer = torch.optim.AdamW(split_decay(model, 0.1), lr=1e-3, betas=(0.9, 0.95), eps=1e-8)
    return model, optimizer, text_batches(16, generator), {"base": 1e-3, "warmup": 50, "last_fraction": 0.1}, 1.0


WORKS = {"fashion_resnet18": fashion_resnet18, "gpt_text": gpt_text}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=WORKS)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fashion-mnist", type=Path, default="/usr/share/datasets/fashion-mnist", help="its folder")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    generator = torch.Generator().manual_seed(options.seed)
    model, optimizer, batches, rate, clip = WORKS[options.work](options, generator)
    model.to(device).train()
    half = lambda: torch.autocast("cuda", torch.bfloat16) if device.type == "cuda" else contextlib.nullcontext()
    losses = []
    for step, (inputs, targets) in zip(range(options.steps), batches):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, options.steps, **rate)
        with half():
            scores = model(inputs.to(device))
            loss = F.cross_entropy(scores.float().flatten(0, -2), targets.to(device).flatten())
        optimizer.zero_grad()
        loss.backward()
        if clip > 0:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(loss.detach())
    print(json.dumps([float(loss) for loss in losses]))


if __name__ == "__main__":
    main()
