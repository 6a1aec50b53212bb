"""A model whose network lies in worker processes, one per device: branch parallelism behind the same face."""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..model.errors import ModelError
from ..model.sharding import check_divisible
from ..model.source import Checkpoint
from .attached import Attached
from .crew import Crew, Patience
from .gateway import split_address
from .pool import Pool
from .race import Lanes
from .rank import check_teams
from .remote import RemoteRace
from .session import Model

MOST_RANKS = 64


class PooledModel(Model):
    """Its prompts are encoded here, its forwards run in a crew of workers."""

    def __init__(self, crew: Crew, checkpoint: Checkpoint) -> None:
        super().__init__(checkpoint, checkpoint.config())
        self.crew = crew

    @property
    def hardware(self) -> str:
        """All devices in words, such as 4 x NVIDIA L4."""
        names = list(self.crew.names)
        return ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))

    def race(self, prompt: Sequence[int], lanes: Lanes, forced: Mapping[int, int] | None = None, *, warm: bool = True) -> RemoteRace:
        return RemoteRace(self.crew, self.config, prompt, lanes, forced, warm)

    @property
    def notices(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*super().notices, *self.crew.notices)))

    @property
    def state(self) -> str:
        return self.crew.state

    def health(self) -> dict[str, Any]:
        return self.crew.health() | {"hardware": self.hardware, "ranks": len(self.crew.peers)}

    def wait(self) -> None:
        self.crew.wait(self.crew.patience.start)

    def close(self) -> None:
        self.crew.close()


def open_pool(
    checkpoint: Checkpoint, *, ranks: int, device: str | None = None, dtype: torch.dtype | None = None, threads: int = 0,
    tensor: int = 1, patience: Patience | None = None,
) -> PooledModel:  # fmt: skip
    """Start `ranks` workers for a checkpoint; they load while this returns. Raises ModelError.

    device: None takes GPUs if there are any, one per rank. threads: of each worker, 0 shares this machine's cores.
    tensor: workers that share one copy of the network, for one that exceeds a device.
    """
    check_teams(ranks, tensor)
    kind = device or ("cuda" if torch.cuda.is_available() else "cpu")
    devices = places(kind, ranks)
    threads = threads or (max(1, torch.get_num_threads() // ranks) if kind == "cpu" else 0)
    told = ["--model", str(checkpoint.folder), "--threads", str(threads), "--tensor", str(tensor)]
    told += ["--adapter", str(checkpoint.adapter)] if checkpoint.adapter else []
    if checkpoint.source.shifted is not None:
        told += ["--shifted" if checkpoint.source.shifted else "--no-shifted"]
    told += ["--dtype", str(dtype).removeprefix("torch.")] if dtype else []
    check_divisible(checkpoint.config(), tensor)  # what cannot be is told before any process is started
    model = PooledModel(Pool(devices, told, patience, tensor=tensor), checkpoint)
    atexit.register(model.close)
    return model


def attach(checkpoint: Checkpoint, address: str, secret: str) -> PooledModel:
    """A model whose workers wait at HOST:PORT, started by torchrun with the same model. Raises ModelError."""
    try:
        where = split_address(address)
    except ValueError as error:
        raise ModelError(f"--connect: {error}") from None
    if len(secret) < 8:
        raise ModelError("--connect needs LOPA_SECRET, the secret of at least 8 characters that the workers were started with.")
    config = checkpoint.config()
    crew = Attached(where, secret.encode())
    if crew.model != checkpoint.source.name:
        crew.close()
        raise ModelError(f"The workers at {address} have {crew.model}, not {checkpoint.source.name}: give the same by --model.")
    if crew.shifted != config.shifted:
        crew.close()
        theirs, ours = ("--shifted" if shifted else "--no-shifted" for shifted in (crew.shifted, config.shifted))
        raise ModelError(f"The workers at {address} decode this checkpoint with {theirs}, this app with {ours}: give both the same.")
    model = PooledModel(crew, checkpoint)
    atexit.register(model.close)
    return model


def places(kind: str, ranks: int) -> list[str]:
    """A device for each rank. Raises ModelError where there are not enough."""
    if not 1 <= ranks <= MOST_RANKS:
        raise ModelError(f"--ranks must be a whole number from 1 to {MOST_RANKS}, not {ranks}.")
    if kind == "cpu":
        return ["cpu"] * ranks
    if kind != "cuda":
        raise ModelError(f"Ranks are spread over cuda or cpu devices, not over {kind!r}.")
    found = torch.cuda.device_count()
    if ranks > found:
        raise ModelError(f"--ranks {ranks} needs as many GPUs; this machine has {found}.")
    return [f"cuda:{index}" for index in range(ranks)]
