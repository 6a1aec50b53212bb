"""A worker: one process per device, with the whole network, in a process group with its peers.

Started by the pool (runtime/pool.py), which holds the other end of --link. Between runs it waits at that link, not in
a collective, so it may idle for ever. It ends when the link closes: no worker outlives its app.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import queue
import signal
import sys
import threading
from collections.abc import Sequence
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from ..decode.settings import DecodeSettings, SettingsError
from ..model.errors import ModelError
from ..trace.plain import round_data
from .device import memory
from .parallel import Cancelled, ParallelEngine, RankFailed
from .race import LocalRace
from .session import LocalModel, open_model
from .wire import Link

PR_SET_PDEATHSIG = 1


class Worker:
    """link: to the pool. Commands that must not wait for a run are answered by a thread of their own."""

    def __init__(self, link: Link, rank: int, ranks: int) -> None:
        self.link, self.rank, self.ranks = link, rank, ranks
        self.commands: queue.Queue[dict[str, Any]] = queue.Queue()
        self.cancelled: set[int] = set()
        self.running: int | None = None
        self.model: LocalModel | None = None
        self.rounds = 0
        threading.Thread(target=self.listen, name="link", daemon=True).start()

    def listen(self) -> None:
        """Answer and note commands until the app is gone, then leave at once, whatever the main thread is stuck in."""
        try:
            while True:
                message = self.link.receive()
                match message["do"]:
                    case "ping":
                        self.link.send(pong=message["ping"], running=self.running, rounds=self.rounds, memory=self.memory())
                    case "cancel":
                        self.cancelled.add(message["run"])
                    case "quit":
                        break
                    case _:
                        self.commands.put(message)
        except (EOFError, OSError):
            pass
        finally:
            os._exit(0)

    def memory(self) -> dict[str, int]:
        """Of the device once there is a network on it, else of this process; never the first to touch a GPU."""
        return memory(torch.device("cpu") if self.model is None else self.model.network.embed.weight.device)

    def serve(self, model: LocalModel, devices: Sequence[str]) -> None:
        """Run what is asked, in step with the other ranks, until the process ends."""
        while True:
            command = self.commands.get()
            self.running = command["run"]
            try:
                self.race(model, devices, command)
            except Cancelled:
                self.link.send(run=self.running, ended="cancelled")
            except RankFailed as error:
                self.link.send(run=self.running, ended="peer", error=str(error))
            except (SettingsError, ModelError) as error:
                self.link.send(run=self.running, ended="refused", error=str(error))
            except MemoryError:
                self.link.send(run=self.running, ended="memory", error="")
            except RuntimeError as error:
                if "out of memory" not in str(error).lower():
                    raise  # a collective that timed out, a device that is gone: this process can do no more
                self.link.send(run=self.running, ended="memory", error=str(error).splitlines()[0][:300])
                release()
            self.cancelled.discard(self.running)
            self.running = None

    def race(self, model: LocalModel, devices: Sequence[str], command: dict[str, Any]) -> None:
        """The same race on all ranks; rank 0 tells of it."""
        number = command["run"]
        lanes = {name: DecodeSettings(**settings) for name, settings in command["lanes"].items()}
        forced = {int(index): branch for index, branch in command["forced"].items()}

        def engine() -> ParallelEngine:
            return ParallelEngine(model.network, dist.group.WORLD, tuple(devices), lambda: number in self.cancelled)

        race = LocalRace(engine, model.config, command["prompt"], lanes, forced, command["warm"])
        for name, happened in race.run():
            self.rounds += 1
            if self.rank == 0:
                self.link.send(run=number, lane=name, round=happened and round_data(happened))
        outcomes = {name: {"reason": tape.reason, "tokens": tape.tokens} for name, tape in race.tapes.items()}
        self.link.send(run=number, ended="finished", outcomes=outcomes if self.rank == 0 else {})


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(argv)
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the app ends its workers itself
    worker = Worker(Link(Connection(args.link)), args.rank, args.ranks)
    if args.threads:
        torch.set_num_threads(args.threads)
    dtype = getattr(torch, args.dtype) if args.dtype else None
    try:
        worker.link.send(at="loading")
        model = open_model(args.model, adapter=args.adapter, device=args.device, dtype=dtype)
    except ModelError as error:
        worker.link.send(at="failed", error=str(error))
        sys.exit(1)
    worker.model = model
    worker.link.send(at="loaded", device=model.hardware, dtype=model.health()["dtype"])
    join(args, model)
    go = worker.commands.get()
    worker.link.send(at="ready")
    worker.serve(model, go["devices"])


def join(args: argparse.Namespace, model: LocalModel) -> None:
    """Meet the other ranks. A collective that takes longer than --timeout ends the process."""
    device = model.network.embed.weight.device
    cuda = device.type == "cuda"
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group(
        "nccl" if cuda else "gloo", init_method=Path(args.store).absolute().as_uri(), rank=args.rank, world_size=args.ranks,
        timeout=timedelta(seconds=args.timeout), device_id=device if cuda else None,
    )  # fmt: skip


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lopa_core.runtime.worker", description=__doc__)
    parser.add_argument("--link", type=int, required=True, help="file descriptor of the pool's socket")
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--store", required=True, help="file in which the ranks find each other")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds a collective may take")
    parser.add_argument("--model", required=True)
    parser.add_argument("--adapter")
    parser.add_argument("--device", required=True)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"))
    parser.add_argument("--threads", type=int, default=0)
    return parser.parse_args(argv)


def die_with_parent() -> None:
    """On Linux the kernel ends this process with its parent, however that one dies; elsewhere the closed link does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def release() -> None:
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
