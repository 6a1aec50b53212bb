"""A worker: one process per device, with the whole network or its part of it, in a process group with its peers.

Started by the pool (runtime/pool.py), which holds the other end of --link. Between runs it waits at that link, not in
a collective, so it may idle for ever. It ends when the link closes: no worker outlives its app.
"""

from __future__ import annotations

import argparse
import ctypes
import logging
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import torch
import torch.distributed as dist

from ..decode.settings import SettingsError
from ..model.errors import DeviceError, ModelError
from . import rank as ranks
from .crew import HOPELESS
from .device import memory
from .messages import fault, first_line, line_up, told
from .parallel import Cancelled, RankFailed
from .rank import Rank
from .session import LocalModel
from .wire import Link

log = logging.getLogger(__name__)
PR_SET_PDEATHSIG = 1


class Worker:
    """link: to the pool. Commands that must not wait for a run are answered by a thread of their own."""

    def __init__(self, link: Link, rank: int) -> None:
        self.link, self.rank = link, rank
        self.commands: queue.Queue[dict[str, Any]] = queue.Queue()
        self.cancelled: dict[int, threading.Event] = {}  # by the number of each run that is not over
        self.running: int | None = None
        self.model: LocalModel | None = None
        self.rounds = 0
        threading.Thread(target=self.listen, name="link", daemon=True).start()

    def listen(self) -> None:
        """Answer and note commands until the app is gone, then leave at once, whatever the main thread is stuck in."""
        with dying():
            try:
                while True:
                    self.heed(self.link.receive())
            except (EOFError, OSError):
                os._exit(0)

    def heed(self, message: dict[str, Any]) -> None:
        match message["do"]:
            case "ping":
                self.link.send(pong=message["ping"], running=self.running, rounds=self.rounds, memory=self.memory())
            case "cancel":
                event = self.cancelled.get(message["run"])  # it may have just ended
                if event:
                    event.set()
            case "run":
                self.cancelled[message["run"]] = threading.Event()
                self.commands.put(message)
            case _:
                self.commands.put(message)

    def memory(self) -> dict[str, int]:
        """Of the device once there is a network on it, else of this process; never the first to touch a GPU."""
        return memory(torch.device("cpu") if self.model is None else self.model.network.device)

    def serve(self, rank: Rank, devices: Sequence[str]) -> None:
        """Run what is asked, in step with the other ranks, until the process ends."""
        with dying():
            while True:
                command = self.commands.get()
                number = self.running = command["run"]
                ended = self.attempt(rank, devices, command)
                del self.cancelled[number]
                self.running = None
                self.link.send(run=number, **ended)
                if ended["ended"] == "memory":
                    rank.model.release()

    def attempt(self, rank: Rank, devices: Sequence[str], command: dict[str, Any]) -> dict[str, str]:
        """Run a race and say how it ended. What is not told here, such as a collective that timed out, ends the process."""
        try:
            self.race(rank, devices, command)
            return {"ended": "finished"}
        except Cancelled:
            return {"ended": "cancelled"}
        except RankFailed as error:
            return {"ended": "peer", "error": str(error)}
        except (SettingsError, ModelError, MemoryError, RuntimeError) as error:
            return fault(error)

    def race(self, rank: Rank, devices: Sequence[str], command: dict[str, Any]) -> None:
        """The same race on all ranks; rank 0 tells of it."""
        number, cancelled = command["run"], self.cancelled[command["run"]]
        race = line_up(command, rank.engines(tuple(devices), cancelled.is_set), rank.model.config)
        for message in told(race):
            self.rounds += "round" in message
            if self.rank == 0:
                self.link.send(run=number, **message)


@contextmanager
def dying() -> Iterator[None]:
    """An error in here ends the process at once: an ordinary end would wait for what hangs in a device or a collective."""
    try:
        yield
    except Exception:
        log.exception("This worker has failed")
        os._exit(1)


def main(argv: Sequence[str] | None = None) -> None:
    where, _ = address().parse_known_args(argv)
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the app ends its workers itself
    with dying():
        worker = Worker(Link(Connection(where.link)), where.rank)
        with telling(worker.link):
            args = parse(argv)
            worker.link.send(at="loading")
            device = ranks.place(args.device)
            worker.model = model = load(args, device)
            worker.link.send(at="loaded", device=model.hardware, dtype=model.health()["dtype"], notices=model.config.notices)
            go = worker.commands.get()  # all have loaded: from here on they wait for each other
            rank = ranks.join(args, model, device, dist.FileStore(args.store, args.ranks), args.rank, args.ranks)
        worker.link.send(at="ready")
        worker.serve(rank, go["devices"])


@contextmanager
def telling(link: Link) -> Iterator[None]:
    """Around a worker's start: if it fails the app hears why, and whether that is hopeless: no other start or device would help."""
    try:
        yield
    except ModelError as error:
        hopeless = not isinstance(error, DeviceError)
        link.send(at="failed", error=str(error), hopeless=hopeless)
        sys.exit(HOPELESS if hopeless else 1)


def load(args: argparse.Namespace, device: torch.device) -> LocalModel:
    """The checkpoint on the device. Raises ModelError."""
    try:
        return ranks.load(args, device)
    except (MemoryError, RuntimeError) as error:
        raise DeviceError(f"{device} cannot take the model: {first_line(error)}") from None


class Parser(argparse.ArgumentParser):
    """argparse whose errors the app hears."""

    def error(self, message: str) -> NoReturn:
        raise ModelError(f"A worker does not understand what it was started with: {message}.")


def address() -> Parser:
    """Reads to whom this worker belongs: before all else, so that it can be told what is wrong with that."""
    parser = Parser(prog="python -m lopa_core.runtime.worker", description=__doc__, add_help=False)
    parser.add_argument("--link", type=int, required=True, help="file descriptor of the pool's socket")
    parser.add_argument("--rank", type=int, required=True)
    return parser


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Raises ModelError."""
    parser = Parser(parents=[address()], prog="python -m lopa_core.runtime.worker", description=__doc__)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--store", required=True, help="file in which the ranks find each other")
    parser.add_argument("--device", required=True)
    ranks.add_flags(parser)
    return parser.parse_args(argv)


def die_with_parent() -> None:
    """On Linux the kernel ends this process with its parent, however that one dies; elsewhere the closed link does.

    To the kernel the parent is the thread that started it: the pool's supervisor, which lives as long as its workers.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
