"""The cells of the comparison: which contender trains which work; and the bouts in which they meet, most wanted first.

A cell is one contender on one work. Its name is its folder: tandem.resnet50.b256.nvlink8. In a bout, the cells of one
work run by turns, round after round, so that a drift of the machine meets all of them.
"""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT / "benchmarks" / "peers" / "torch_ddp.py"
WARMUP_STEPS = 20  # that no statistic counts, on either side
RESUME_STEPS = 5  # the same at the beginning of a round of a contender that stays resident
ROUNDS = 3
CONTEXT = 1024


@dataclass(frozen=True)
class Cell:
    contender: str  # tandem or peer
    work: str
    batch: int
    steps: int  # that are timed, per round
    gpus: int = 1  # and ranks
    link: str = ""  # between them, nvlink or pcie; on one GPU an emulated one
    stands_for: int = 1  # ranks, where the link is emulated
    clip: float = 0.0
    mode: str = ""  # of the peer, as the rest
    attention: str = "auto"
    hook: str = "none"

    @property
    def emulated(self):
        return self.stands_for > 1

    @property
    def name(self):
        parts = [self.contender, self.work.replace(".", "_"), f"b{self.batch}"]
        parts += ["clip"] if self.clip > 0 else []
        parts += [f"emulated-{self.link}{self.stands_for}"] if self.emulated else []
        parts += [f"{self.link}{self.gpus}"] if self.gpus > 1 else []
        parts += [self.mode] if self.mode else []
        parts += [self.attention] if self.attention != "auto" else []
        parts += [f"{self.hook}-hook"] if self.hook != "none" else []
        return ".".join(parts)

    @property
    def item(self):
        return "tokens" if self.work.startswith("gpt") else "images"

    @property
    def items_per_sample(self):
        return CONTEXT if self.item == "tokens" else 1

    def command(self, programs, folder):
        """Tandem's trains once and leaves its record in folder. The peer's stays and takes its rounds from stdin."""
        return self._tandem_command(programs, folder) if self.contender == "tandem" else self._peer_command()

    def environment(self):
        """What is added to the environment: NCCL's switches, which it reads once per process."""
        # The trainer sets its own. Multicast stays off on both sides: not every machine offers it.
        if self.contender == "tandem" or self.gpus == 1:
            return {}
        return {"NCCL_NVLS_ENABLE": "0"} | ({"NCCL_P2P_DISABLE": "1"} if self.link == "pcie" else {})

    def _tandem_command(self, programs, folder):
        settings = {
            "train.micro_batch": self.batch,
            "train.max_steps": WARMUP_STEPS + self.steps,
            "train.warmup_steps_excluded": WARMUP_STEPS,
            "train.eval_every": 0,
        }
        if self.clip > 0:
            settings["optim.clip_norm"] = self.clip
        if self.link:
            settings["comm.link"] = self.link
        if self.emulated:
            settings |= {"comm.backend": "emulated", "comm.emulate_ranks": self.stands_for}
        line = [str(programs / "trainer")]
        if self.gpus > 1:
            line = [str(programs / "launcher"), "run", "--ranks", str(self.gpus)]
        line += ["--config", f"{self.work}.yaml", "--out", str(folder)]
        for key, value in settings.items():
            line += ["--set", f"{key}={value}"]
        return line

    def _peer_command(self):
        line = ["torchrun", "--standalone", f"--nproc-per-node={self.gpus}"] if self.gpus > 1 else ["python3"]
        line += [str(PEER), "--work", self.work, "--batch", str(self.batch), "--mode", self.mode]
        line += ["--warmup", str(WARMUP_STEPS), "--steps", str(self.steps), "--resident", str(RESUME_STEPS)]
        if self.clip > 0:
            line += ["--clip", str(self.clip)]
        line += ["--attention", self.attention, "--hook", self.hook]
        return line


@dataclass(frozen=True)
class Bout:
    """Cells of one work, at most one of them the peer's: two that stay resident might not fit into the GPU's memory."""

    cells: tuple
    rounds: int = ROUNDS

    @property
    def name(self):
        first = self.cells[0].name.split(".", 1)[1]
        rivals = [cell for cell in self.cells if cell.contender == "peer"]
        if rivals:
            return f"{first}.vs-" + rivals[0].name.split(".", 1)[1].removeprefix(first + ".")
        return f"{first}.links" if any(cell.emulated for cell in self.cells) else first


def bout(work, *contenders):
    name, batch, steps = work
    return Bout(tuple(Cell(who, name, batch, steps, **more) for who, more in contenders))


def tandem(**more):
    return "tandem", more


def peer(mode, **more):
    return "peer", {"mode": mode, **more}


RESNET50 = ("resnet50", 256, 100)
RESNET50_SMALL = ("resnet50", 32, 250)
RESNET152 = ("resnet152", 128, 60)
GPT2 = ("gpt2_124m", 64, 40)
GPT3 = ("gpt3_1.3b", 8, 40)
EMULATED = tuple(tandem(link=link, stands_for=ranks) for link, ranks in (("nvlink", 8), ("pcie", 2), ("pcie", 8)))

ON_ONE_GPU = [
    bout(RESNET50, tandem(), peer("reduce-overhead")),
    bout(GPT2, tandem(), peer("reduce-overhead")),
    bout(GPT3, tandem(), peer("reduce-overhead")),
    bout(RESNET50_SMALL, tandem(), peer("reduce-overhead")),
    bout(RESNET152, tandem(), peer("reduce-overhead")),
    bout(RESNET50, tandem(), *EMULATED),
    bout(GPT2, tandem(), *EMULATED),
    bout(GPT3, tandem(), *EMULATED),
    bout(GPT2, tandem(), peer("default")),
    bout(GPT3, tandem(), peer("default")),
    bout(GPT2, tandem(clip=1.0), peer("reduce-overhead", clip=1.0)),
    bout(GPT3, tandem(clip=1.0), peer("reduce-overhead", clip=1.0)),
    bout(GPT2, tandem(), peer("reduce-overhead", attention="cudnn")),
    bout(GPT3, tandem(), peer("reduce-overhead", attention="cudnn")),
    bout(RESNET50, tandem(), peer("default")),
    bout(RESNET152, tandem(), peer("default")),
    bout(RESNET50_SMALL, tandem(), peer("default")),
    bout(RESNET50, tandem(), peer("eager")),
    bout(GPT2, tandem(), peer("eager")),
    bout(GPT3, tandem(), peer("eager")),
]


def on_several_gpus(gpus):
    """Both links, beside DDP in the mode that works with it, and with its bf16 hook where gradients are large."""
    found = []
    for work in (RESNET50, GPT3, GPT2, RESNET152, RESNET50_SMALL):
        for link in ("nvlink", "pcie"):
            at = {"gpus": gpus, "link": link}
            found.append(bout(work, tandem(**at), peer("default", **at)))
    for work in (GPT3, GPT2, RESNET50):
        for link in ("pcie", "nvlink"):
            at = {"gpus": gpus, "link": link}
            found.append(bout(work, tandem(**at), peer("default", hook="bf16", **at)))
    for work in (RESNET50, RESNET152, GPT3):
        at = {"gpus": gpus, "link": "nvlink"}
        found.append(bout(work, tandem(**at), peer("reduce-overhead", **at)))
    return found


def bouts(gpus):
    return ON_ONE_GPU if gpus == 1 else on_several_gpus(gpus)
