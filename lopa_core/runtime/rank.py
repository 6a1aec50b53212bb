"""What every rank does however it was started: load the network, meet the others, take its part of the mesh.

The ranks form a mesh of teams x `tensor`: each team is one copy of the network, and the branches are spread over the
teams. With tensor = 1 every rank is a team.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from ..model.errors import ModelError
from ..model.precision import DTYPES
from ..model.sharding import check_divisible, shard
from ..model.source import read_source
from .device import describe, usable
from .joining import agree
from .parallel import ParallelEngine
from .session import LocalModel, open_model


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank in step with its peers. peers: the ranks with this one's part of the network; None: all of them."""

    model: LocalModel
    tensor: int
    peers: dist.ProcessGroup | None

    def engines(self, devices: tuple[str, ...], cancelled: Callable[[], bool]) -> Callable[[], ParallelEngine]:
        """Gives an engine for each lane of a race. devices: names of all ranks' devices, by rank."""
        shared = {"tensor": self.tensor, "peers": self.peers}
        return lambda: ParallelEngine(self.model.engine(), dist.group.WORLD, devices, cancelled, **shared)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """What a worker is told of its network, the same for all ways to start it."""
    parser.add_argument("--model", required=True, metavar="NAME", help="folder, Hub id or key, the same on every machine")
    parser.add_argument("--adapter", metavar="NAME", help="peft LoRA to merge, folder or Hub id")
    shifted = "whether row i of the logits predicts slot i + 1 (default: as the checkpoint's family)"
    parser.add_argument("--shifted", action=argparse.BooleanOptionalAction, help=shifted)
    parser.add_argument("--dtype", choices=DTYPES, help="default: bfloat16 on a GPU, float32 on a CPU")
    parser.add_argument("--threads", type=natural, default=0, metavar="N", help="CPU threads of each rank (default: torch's choice)")
    parser.add_argument("--tensor", type=int, default=1, metavar="N", help="ranks that share one copy of the network (%(default)s)")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="that a collective may take (%(default)g)")


def natural(text: str) -> int:
    """A flag's whole number, 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 0 or more")
    return int(text)


def load(args: argparse.Namespace, device: torch.device) -> LocalModel:
    """The checkpoint on `device`; on the CPU as long as it still has to be cut up. Raises ModelError."""
    if args.threads:
        torch.set_num_threads(args.threads)
    checkpoint = read_source(args.model, args.adapter, shifted=args.shifted).fetch()
    dtype = getattr(torch, args.dtype) if args.dtype else None
    if args.tensor == 1:
        return open_model(checkpoint, device=device, dtype=dtype)
    check_divisible(checkpoint.config(), args.tensor)
    dtype = dtype or (torch.float32 if device.type == "cpu" else torch.bfloat16)
    model = open_model(checkpoint, device="cpu", dtype=dtype, whole=False)
    model.hardware = describe(device)
    return model


def join(args: argparse.Namespace, model: LocalModel, device: torch.device, store: dist.Store, rank: int, ranks: int) -> Rank:
    """Meet the other ranks at `store`. A collective that takes longer than --timeout fails.

    Raises ModelError where the ranks cannot be divided into teams, or differ in what they have to have in common.
    """
    check_teams(ranks, args.tensor)
    agree(store, rank, ranks, model, args.tensor)
    cuda = device.type == "cuda"
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group(
        "nccl" if cuda else "gloo", store=dist.PrefixStore("group", store), rank=rank, world_size=ranks,
        timeout=timedelta(seconds=args.timeout), device_id=device if cuda else None,
    )  # fmt: skip
    if args.tensor == 1:
        return Rank(model, 1, None)
    mesh = init_device_mesh(device.type, (ranks // args.tensor, args.tensor), mesh_dim_names=("branch", "tensor"))
    shard(model.network, mesh["tensor"], device)
    model.static = False  # torch's tensor parallelism is not captured
    return Rank(model, args.tensor, mesh["branch"].get_group())


def check_teams(ranks: int, tensor: int) -> None:
    """Raises ModelError where `ranks` cannot be divided into teams of `tensor`."""
    if tensor < 1 or ranks % tensor:
        raise ModelError(f"{ranks} ranks cannot be divided into teams of {tensor} that share a network: take a --tensor that divides them.")


def place(name: str | None, local: int = 0) -> torch.device:
    """The device of a rank by name, or the GPU of its number on this machine, if there are any. Raises DeviceError."""
    return usable(name or (f"cuda:{local}" if torch.cuda.is_available() else "cpu"))
