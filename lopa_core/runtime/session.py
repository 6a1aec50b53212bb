"""A loaded checkpoint with everything needed to decode text: network, tokenizer, the name shown to people."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

import torch

from ..model.checkpoint import load
from ..model.network import Transformer
from ..model.presets import DEFAULT, PRESETS
from ..model.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Model:
    """name: the folder's. tokenizer is None where the folder has none: prompts are token ids then."""

    name: str
    network: Transformer
    tokenizer: Tokenizer | None
    hardware: str


def open_model(
    folder: str | Path = PRESETS[DEFAULT].folder,
    *,
    adapter: str | Path | None = None,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Model:
    """Load a checkpoint folder. Raises ModelError with a sentence where it cannot be used."""
    folder = Path(folder)
    network = load(folder, adapter=adapter, device=device, dtype=dtype)
    tokenizer = Tokenizer(folder) if (folder / "tokenizer.json").exists() else None
    return Model(folder.resolve().name, network, tokenizer, describe(torch.device(device)))


def describe(device: torch.device) -> str:
    """The device in words, for score-cards and traces."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"CPU, {torch.get_num_threads()} thread{'s' if torch.get_num_threads() > 1 else ''} ({processor()})"


def processor() -> str:
    """The processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
