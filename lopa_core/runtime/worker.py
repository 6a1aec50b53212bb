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
from pathlib import Path
from typing import Any

import torch

from ..decode.settings import SettingsError
from ..model.errors import ModelError, NoRoom
from . import rank as ranks
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
    args = parse(argv)
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the app ends its workers itself
    with dying():
        worker = Worker(Link(Connection(args.link)), args.rank)
        worker.model = model = load(worker.link, args)
        worker.link.send(at="loaded", device=model.hardware, dtype=model.health()["dtype"], notices=model.config.notices)
        go = worker.commands.get()  # all have loaded: from here on they wait for each other
        store = Path(args.store).absolute().as_uri()
        rank = ranks.join(args, model, ranks.place(args.device), init_method=store, rank=args.rank, world_size=args.ranks)
        worker.link.send(at="ready")
        worker.serve(rank, go["devices"])


def load(link: Link, args: argparse.Namespace) -> LocalModel:
    """The checkpoint on the device; else the app hears why, and whether it is hopeless: no other device would help."""
    link.send(at="loading")
    hopeless = False
    try:
        device = ranks.place(args.device)
        hopeless = True
        return ranks.load(args, device)
    except ModelError as error:
        link.send(at="failed", error=str(error), hopeless=hopeless and not isinstance(error, NoRoom))
    except (MemoryError, RuntimeError) as error:
        link.send(at="failed", error=f"{args.device} cannot take the model: {first_line(error)}", hopeless=False)
    sys.exit(1)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lopa_core.runtime.worker", description=__doc__)
    parser.add_argument("--link", type=int, required=True, help="file descriptor of the pool's socket")
    parser.add_argument("--rank", type=int, required=True)
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
