#!/usr/bin/env python3
"""Writes the golden fixtures: small networks, trained for ten steps by PyTorch.

Everything is computed in double and rounded to fp32 at the end, from first values that fp32 holds exactly:
what a test sees as a difference is the error of the fp32 side alone.

Needs PyTorch >= 1.12 on a CPU (Debian: python3-torch). Run it in this folder; the files are committed.

One file per case, `<case>.golden`, little-endian:
    8 bytes   magic "TANDEMG1"
    8 bytes   length of the header
    header    JSON: {"tensors": {name: {"dtype", "shape", "offset"}}, "numbers": {name: number}}
    data      the tensors, densely packed; offsets count from the end of the header

Tensors: "input" (u8 NHWC images, or i32 tokens), "targets" (i32, -1 is ignored), "logits" of the first
training pass, "losses" (one before each of ten updates), and by parameter name "weight/…", "gradient/…" (of
the mean loss at the first pass), "buffer/…" (before) and "buffer_after/…" (after the first pass).
"weight_after/…" are the weights after the ten updates. Linear weights are [out, in], filters [K, C, R, S].
"""

import json
import math
import struct

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

DTYPES = {np.dtype("float32"): "f32", np.dtype("int32"): "i32", np.dtype("uint8"): "u8"}
STEPS = 10


def write(case, tensors, numbers):
    header, data, offset = {}, [], 0
    for name, tensor in tensors.items():
        array = np.ascontiguousarray(tensor)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        header[name] = {"dtype": DTYPES[array.dtype], "shape": list(array.shape), "offset": offset}
        data.append(array.tobytes())
        offset += len(data[-1])
    text = json.dumps({"tensors": header, "numbers": numbers}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(f"{case}.golden", "wb") as file:
        file.write(b"TANDEMG1" + struct.pack("<q", len(text)) + text + b"".join(data))
    print(f"{case}: {16 + len(text) + offset} bytes")


class Block(nn.Module):
    """torchvision's BasicBlock and Bottleneck (v1.5), with a projection wherever the shape changes."""

    def __init__(self, inputs, channels, stride, bottleneck):
        super().__init__()
        out = channels * (4 if bottleneck else 1)
        if bottleneck:
            shapes = [(inputs, channels, 1, 1), (channels, channels, 3, stride), (channels, out, 1, 1)]
        else:
            shapes = [(inputs, channels, 3, stride), (channels, out, 3, 1)]
        self.count = len(shapes)
        for i, (c, k, kernel, step) in enumerate(shapes, 1):
            setattr(self, f"conv{i}", nn.Conv2d(c, k, kernel, step, kernel // 2, bias=False))
            setattr(self, f"bn{i}", nn.BatchNorm2d(k))
        self.downsample = None
        if stride != 1 or inputs != out:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = x
        for i in range(1, self.count + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            if i < self.count:
                y = F.relu(y)
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, blocks, width, bottleneck, imagenet, channels, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 7, 2, 3, bias=False) if imagenet else nn.Conv2d(
            channels, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.imagenet, self.stages = imagenet, len(blocks)
        inputs = width
        for stage, count in enumerate(blocks):
            layer = []
            for i in range(count):
                layer.append(Block(inputs, width << stage, 2 if stage > 0 and i == 0 else 1, bottleneck))
                inputs = (width << stage) * (4 if bottleneck else 1)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layer))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, images):  # u8 NHWC, normalised as the C++ test says
        x = (images.permute(0, 3, 1, 2).double() / 255 - 0.5) / 0.25
        x = F.relu(self.bn1(self.conv1(x)))
        if self.imagenet:
            x = F.max_pool2d(x, 3, 2, 1)
        for stage in range(self.stages):
            x = getattr(self, f"layer{stage + 1}")(x)
        return self.fc(x.mean((2, 3)))


class Attention(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(channels, 3 * channels)
        self.c_proj = nn.Linear(channels, channels)

    def forward(self, x):
        batch, length, channels = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.c_attn(x).split(channels, 2))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        y = scores.masked_fill(future, -math.inf).softmax(3) @ v
        return self.c_proj(y.transpose(1, 2).reshape(batch, length, channels))


class Mlp(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.c_fc = nn.Linear(channels, 4 * channels)
        self.c_proj = nn.Linear(4 * channels, channels)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class GptBlock(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(channels), Attention(channels, heads)
        self.ln_2, self.mlp = nn.LayerNorm(channels), Mlp(channels)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    """GPT-2 with a tied head and names as Hugging Face's."""

    def __init__(self, layers, heads, channels, context, vocabulary):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, channels)
        self.wpe = nn.Embedding(context, channels)
        self.h = nn.ModuleList(GptBlock(channels, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(channels)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return (self.ln_f(x) @ self.wte.weight.T).flatten(0, 1)


def scatter(net):
    """Values of no special kind: zeros and ones hide mistakes."""
    with torch.no_grad():
        for parameter in net.parameters():
            if parameter.dim() == 1:
                parameter += 0.2 * torch.randn_like(parameter)
        for module in net.modules():
            if isinstance(module, nn.Embedding):
                module.weight *= 0.3
    net.double()


def state(net, prefix):
    return {f"{prefix}/{name}": value.detach().clone().numpy() for name, value in net.named_parameters()}


def buffers(net, prefix):
    return {f"{prefix}/{name}": value.detach().clone().numpy()
            for name, value in net.named_buffers() if "running" in name}


def train(case, net, images_or_tokens, targets, optimizer, label_smoothing, numbers):
    tensors = {"input": images_or_tokens.numpy(), "targets": targets.numpy().astype(np.int32)}
    if images_or_tokens.dtype == torch.int64:
        tensors["input"] = tensors["input"].astype(np.int32)
    tensors |= state(net, "weight") | buffers(net, "buffer")
    losses = []
    for step in range(STEPS):
        logits = net(images_or_tokens)
        loss = F.cross_entropy(logits, targets, ignore_index=-1, label_smoothing=label_smoothing)
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            tensors["logits"] = logits.detach().numpy().copy()
            tensors |= {f"gradient/{name}": p.grad.numpy().copy() for name, p in net.named_parameters()}
            tensors |= buffers(net, "buffer_after")
        optimizer.step()
        losses.append(loss.item())
    tensors["losses"] = np.array(losses)
    tensors |= state(net, "weight_after")
    write(case, tensors, numbers | {"label_smoothing": label_smoothing})


def resnet(case, blocks, width, bottleneck, imagenet, size, label_smoothing):
    torch.manual_seed(1)
    net = ResNet(blocks, width, bottleneck, imagenet, channels=3, classes=5)
    scatter(net)
    images = torch.randint(0, 256, (6, *size, 3), dtype=torch.uint8)
    numbers = {"lr": 0.01, "momentum": 0.9, "weight_decay": 1e-3}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-3, nesterov=True)
    train(case, net, images, torch.randint(0, 5, (6,)), optimizer, label_smoothing, numbers)


def gpt(case):
    torch.manual_seed(2)
    net = Gpt(layers=2, heads=2, channels=16, context=12, vocabulary=37)
    scatter(net)
    tokens = torch.randint(0, 37, (3, 12))
    targets = torch.randint(0, 37, (36,))
    targets[5] = targets[20] = -1
    numbers = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weight_decay": 0.1}
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    train(case, net, tokens, targets, optimizer, 0.0, numbers)


if __name__ == "__main__":
    torch.set_num_threads(1)
    resnet("resnet_basic", [1, 1], 8, bottleneck=False, imagenet=False, size=(12, 10), label_smoothing=0.0)
    resnet("resnet_bottleneck", [1, 2], 4, bottleneck=True, imagenet=True, size=(32, 28), label_smoothing=0.1)
    gpt("gpt")
