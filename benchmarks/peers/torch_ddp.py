#!/usr/bin/env python3
"""The peer: PyTorch training the same works as ./trainer, on one GPU or, under torchrun, on several with DDP.

    benchmarks/peers/torch_ddp.py --work resnet50 --batch 256 --mode reduce-overhead
    torchrun --nproc-per-node 2 benchmarks/peers/torch_ddp.py --work gpt2_124m --batch 64 --mode default

It is meant to be as fast as PyTorch gets with the same arithmetic: bf16 autocast over fp32 weights, channels_last
images, fused optimizers, torch.compile over model and loss, cuDNN autotuning, and a batch that lies on the GPU already
(the trainer's comes from host memory every step). The mode eager leaves torch.compile out, default takes it,
reduce-overhead adds CUDA graphs; the fastest of them is the one to compare with.

Steps are timed between CUDA events at their beginnings, without a synchronisation in between. One JSON line on stdout
holds the result (of the slowest rank, where there are several); everything else goes to stderr.

With --resident it compiles once and then runs a round for every line on stdin, each with a JSON line of its own, until
stdin ends; between rounds it leaves the GPU alone. A first line, {"ready": true}, says that it is warm.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import time

BEGAN = time.monotonic()

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY = 50257
PADDED_VOCABULARY = 50304
RESNETS = ("resnet50", "resnet152")
GPTS = {"gpt2_124m": (12, 12, 768), "gpt3_1.3b": (24, 16, 2048)}  # layers, heads, channels
DEFAULT_BATCH = {"resnet50": 256, "resnet152": 128, "gpt2_124m": 64, "gpt3_1.3b": 8}


class Attention(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(channels, 3 * channels)
        self.projection = nn.Linear(channels, channels)

    def forward(self, x):
        batch, tokens, channels = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, channels // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.projection(y.transpose(1, 2).reshape(batch, tokens, channels))


class Block(nn.Module):
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
    """GPT-2 (Radford et al. 2019) without dropout; the head shares the token embedding's weight."""

    def __init__(self, layers, heads, channels, context):
        super().__init__()
        self.tokens = nn.Embedding(PADDED_VOCABULARY, channels)
        self.positions = nn.Embedding(context, channels)
        self.blocks = nn.Sequential(*(Block(channels, heads) for _ in range(layers)))
        self.last_norm = nn.LayerNorm(channels)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        return F.linear(self.last_norm(self.blocks(x)), self.tokens.weight)


class WithLoss(nn.Module):
    """Model and loss as one module, so that torch.compile and DDP see both."""

    def __init__(self, model, label_smoothing):
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing

    def forward(self, inputs, targets):
        scores = self.model(inputs)
        return F.cross_entropy(scores.flatten(0, -2), targets.flatten(), label_smoothing=self.label_smoothing)


def make_model(options):
    if options.work in GPTS:
        return WithLoss(Gpt(*GPTS[options.work], options.context), label_smoothing=0.0)
    try:
        from torchvision import models
    except ImportError:
        sys.exit("torch_ddp.py: the ResNets come from torchvision, which is not installed")
    return WithLoss(getattr(models, options.work)(), label_smoothing=0.1)


def parameter_count(model, work):
    """As the trainer counts: rows that pad the vocabulary are left out."""
    stored = sum(parameter.numel() for parameter in model.parameters())
    return stored - (PADDED_VOCABULARY - VOCABULARY) * GPTS[work][2] if work in GPTS else stored


def make_batch(options, device):
    if options.work in GPTS:
        draw = lambda: torch.randint(VOCABULARY, (options.batch, options.context), device=device)
        return draw(), draw()
    images = torch.randn(options.batch, 3, 224, 224, device=device, dtype=torch.bfloat16)
    return images.to(memory_format=torch.channels_last), torch.randint(1000, (options.batch,), device=device)


def make_optimizer(options, model):
    if options.work in RESNETS:
        return torch.optim.SGD(
            model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-5, fused=True)
    matrices = [parameter for parameter in model.parameters() if parameter.dim() >= 2]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.95), fused=True)


def attention_kernels(choice):
    """The wish for a kernel, in force while the model runs or is compiled; auto leaves it to PyTorch."""
    if choice == "auto":
        return contextlib.nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel
    return sdpa_kernel({"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}[choice])


def distributed(model, options, device):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    from torch.nn.parallel import DistributedDataParallel
    ddp = DistributedDataParallel(model, device_ids=[device.index], gradient_as_bucket_view=True)
    if options.hook == "bf16":
        ddp.register_comm_hook(None, default_hooks.bf16_compress_hook)
    return ddp


class Trainer:
    def __init__(self, options, device, ranks):
        torch.manual_seed(options.seed)
        torch.backends.cudnn.benchmark = True
        torch.set_float32_matmul_precision("high")
        with device:
            model = make_model(options).train()
        if options.work in RESNETS:
            model = model.to(memory_format=torch.channels_last)
        self.parameters = list(model.parameters())
        self.parameter_count = parameter_count(model, options.work)
        self.optimizer = make_optimizer(options, model)
        self.model = distributed(model, options, device) if ranks > 1 else model
        if options.mode != "eager":
            self.model = torch.compile(self.model, mode=options.mode)
        self.inputs, self.targets = make_batch(options, device)
        self.clip = options.clip
        self.attention = options.attention

    def step(self):
        torch.compiler.cudagraph_mark_step_begin()
        with torch.autocast("cuda", dtype=torch.bfloat16), attention_kernels(self.attention):
            loss = self.model(self.inputs, self.targets)
        loss.backward()
        if self.clip > 0:
            nn.utils.clip_grad_norm_(self.parameters, self.clip, foreach=True)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss


def warm_up(trainer, options, note):
    """Compiles, autotunes, and goes on until steps are as fast as they get; returns the seconds to the first's end."""
    trainer.step()
    torch.cuda.synchronize()
    first = time.monotonic() - BEGAN
    note(f"first step after {first:.1f} s")
    for _ in range(options.warmup):
        trainer.step()
    torch.cuda.synchronize()
    note(f"warm after {time.monotonic() - BEGAN:.1f} s")
    return first


def timed_steps(trainer, steps):
    """Milliseconds of each step, and the loss of the last."""
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    for mark in marks[:-1]:
        mark.record()
        loss = trainer.step().detach()
    marks[-1].record()
    loss = loss.item()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) for begin, end in zip(marks, marks[1:])], loss


def slowest_rank(times, ranks, device):
    """A step is over when all ranks have finished it."""
    if ranks == 1:
        return times
    gathered = torch.tensor(times, device=device)
    torch.distributed.all_reduce(gathered, op=torch.distributed.ReduceOp.MAX)
    return gathered.tolist()


def versions():
    found = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": str(torch.backends.cudnn.version()),
        "nccl": ".".join(map(str, torch.cuda.nccl.version())),
        "gpu": torch.cuda.get_device_name(),
    }
    with contextlib.suppress(ImportError):
        import triton
        found["triton"] = triton.__version__
    return found


def result(options, trainer, times, ranks):
    deciles = statistics.quantiles(times, n=10)
    median = statistics.median(times)
    items = options.batch * (options.context if options.work in GPTS else 1)
    return {
        "work": options.work,
        "mode": options.mode,
        "batch": options.batch,
        "item": "tokens" if options.work in GPTS else "images",
        "context": options.context if options.work in GPTS else None,
        "clip": options.clip,
        "attention": options.attention if options.work in GPTS else None,
        "ranks": ranks,
        "hook": options.hook if ranks > 1 else None,
        "parameters": trainer.parameter_count,
        "steps": len(times),
        "step_ms": {"median": median, "p10": deciles[0], "p90": deciles[-1], "mean": statistics.fmean(times)},
        "items_per_s": ranks * items * 1000.0 / median,
        "peak_allocated_bytes": torch.cuda.max_memory_allocated(),
        "peak_reserved_bytes": torch.cuda.max_memory_reserved(),
        "versions": versions(),
    }


def turns(ranks):
    """A turn for every line on rank 0's stdin, on all ranks alike. They wait on sockets, which costs no GPU anything."""
    group = torch.distributed.new_group(backend="gloo") if ranks > 1 else None
    rank = torch.distributed.get_rank() if ranks > 1 else 0
    while True:
        line = [sys.stdin.readline() if rank == 0 else ""]
        if group is not None:
            torch.distributed.broadcast_object_list(line, src=0, group=group)
        if not line[0]:
            return
        yield


def measure(options):
    if not torch.cuda.is_available():
        sys.exit("torch_ddp.py: PyTorch finds no GPU")
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.set_device(device)
    if ranks > 1:
        torch.distributed.init_process_group("nccl", device_id=device)
    note = lambda text: print(f"torch_ddp.py: {text}", file=sys.stderr, flush=True) if rank == 0 else None
    tell = lambda found: print(json.dumps(found), flush=True) if rank == 0 else None

    trainer = Trainer(options, device, ranks)
    first_step_s = warm_up(trainer, options, note)

    def measured_round():
        times, loss = timed_steps(trainer, options.steps)
        found = result(options, trainer, slowest_rank(times, ranks, device), ranks)
        tell(found | {"first_step_s": first_step_s, "last_loss": loss})

    if options.resident is None:
        measured_round()
    else:
        tell({"ready": True})
        for _ in turns(ranks):
            for _ in range(options.resident):
                trainer.step()
            measured_round()
    if ranks > 1:
        torch.distributed.destroy_process_group()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", required=True, choices=[*RESNETS, *GPTS])
    parser.add_argument("--batch", type=int, help="per rank (default: that of the work's config)")
    parser.add_argument("--context", type=int, default=1024, help="tokens of a sample (default: 1024)")
    parser.add_argument("--mode", default="reduce-overhead", choices=["eager", "default", "reduce-overhead"])
    parser.add_argument("--attention", default="auto", choices=["auto", "flash", "cudnn"])
    parser.add_argument("--clip", type=float, default=0.0, help="largest norm of the gradient; 0: off (default)")
    parser.add_argument("--hook", default="none", choices=["none", "bf16"], help="compression of DDP's gradients")
    parser.add_argument("--warmup", type=int, default=20, help="steps after the first that are not timed (default: 20)")
    parser.add_argument("--steps", type=int, default=50, help="timed steps, at least 30 (default: 50)")
    parser.add_argument("--resident", type=int, metavar="N", help="stay, and run a round of N untimed and the timed steps "
                        "for every line on stdin")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", action="store_true", help="print the number of parameters and end; needs no GPU")
    options = parser.parse_args()
    options.batch = options.batch or DEFAULT_BATCH[options.work]
    if options.steps < 30:
        parser.error("--steps: a median of fewer than 30 steps is not worth a comparison")
    return options


def main():
    options = parse_arguments()
    if options.count:
        with torch.device("meta"):
            count = parameter_count(make_model(options), options.work)
        print(json.dumps({"work": options.work, "parameters": count}))
        return
    measure(options)


if __name__ == "__main__":
    main()
