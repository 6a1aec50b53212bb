"""A checkpoint folder opened where it should run: in this process, or in workers over several devices."""

from __future__ import annotations

from pathlib import Path

import torch

from ..model.errors import ModelError
from .pooled import open_pool
from .session import Model, open_model


def open_checkpoint(
    folder: str | Path, *, ranks: int | None = None, adapter: str | Path | None = None, device: str | None = None,
    dtype: torch.dtype | None = None, threads: int = 0, tensor: int = 1,
) -> Model:  # fmt: skip
    """Raises ModelError. ranks: None is one per GPU, and this process where there is none; 0 is this process.

    threads: of the network on a CPU, 0 for all. tensor: ranks that share one copy of the network.
    """
    if ranks is None:
        ranks = torch.cuda.device_count() if device in (None, "cuda") and torch.cuda.is_available() else 0
    if ranks:
        return open_pool(folder, ranks=ranks, adapter=adapter, device=device, dtype=dtype, threads=threads, tensor=tensor)
    if tensor > 1:
        raise ModelError(f"--tensor {tensor} shares a network between workers: also give --ranks, a multiple of {tensor}.")
    if threads:
        torch.set_num_threads(threads)
    return open_model(folder, adapter=adapter, device=device, dtype=dtype)
