"""Workers that somebody else starts: torchrun on one machine or many, with one app attached by address.

    LOPA_SECRET=... torchrun --nproc-per-node 8 -m lopa_core.runtime.gateway --model DIR --listen 0.0.0.0:7900
    LOPA_SECRET=... python app.py --model DIR --connect HOST:7900

Rank 0 keeps the gate: the other ranks and the app connect to it, and prove by a challenge that they know the secret
(it is never sent; what follows is not encrypted, so across networks go through a tunnel). The gate hands commands
from the app to all ranks and their answers back, with the rank's number. It outlives apps: one that leaves has its run
cancelled, and the next may attach.
"""

from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import AuthenticationError, Client, Connection, Listener, answer_challenge, deliver_challenge
from typing import Any

import torch.distributed as dist

from ..model.errors import ModelError
from . import rank as ranks
from .rank import Rank
from .wire import Link
from .worker import Worker

log = logging.getLogger(__name__)
MEETING = 600.0  # seconds in which all ranks have to reach the gate


class Gate:
    """Between one app and the ranks. about: what an app is told when it attaches; None until they are ready."""

    def __init__(self, address: tuple[str, int], secret: bytes, ranks: int) -> None:
        self.listener, self.secret = Listener(address), secret
        self.ranks: dict[int, Link] = {}
        self.count = ranks
        self.about: dict[str, Any] | None = None
        self.complete = threading.Event()
        self.app: Link | None = None
        self.running: int | None = None
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, name="gate", daemon=True).start()

    def accept(self) -> None:
        while True:
            caller = self.listener.accept()
            threading.Thread(target=self.admit, args=[caller], daemon=True).start()

    def admit(self, caller: Connection) -> None:
        """Let in who knows the secret, and pass on what it sends until it leaves."""
        try:
            deliver_challenge(caller, self.secret)
            answer_challenge(caller, self.secret)
            link = Link(caller)
            hello = link.receive()
        except (AuthenticationError, EOFError, OSError, ValueError) as error:
            log.warning("Somebody was refused at the gate: %s", type(error).__name__)
            caller.close()
            return
        if "rank" in hello:
            self.add(int(hello["rank"]), link)
        else:
            self.attend(link)

    def add(self, rank: int, link: Link) -> None:
        """A rank: its answers go to the app, if there is one."""
        self.ranks[rank] = link
        if len(self.ranks) == self.count:
            self.complete.set()
        try:
            while True:
                self.pass_on(link.receive() | {"rank": rank})
        except (EOFError, OSError, ValueError):
            log.error("Rank %s is gone; its launcher has to start all of them again", rank)
            os._exit(1)

    def pass_on(self, message: dict[str, Any]) -> None:
        app = self.app
        if app is not None:
            app.send(**message)

    def attend(self, link: Link) -> None:
        """An app: its commands go to all ranks. A second one is turned away while the first is there."""
        with self.lock:
            why = "They are still loading." if self.about is None else "Another app is attached to them." if self.app else ""
            if why:
                link.send(at="refused", error=why)
                link.close()
                return
            self.app = link
        link.send(at="attached", **self.about)
        try:
            while True:
                self.command(link.receive())
        except (EOFError, OSError, ValueError):
            if self.running is not None:
                self.command({"do": "cancel", "run": self.running})
            self.app = None

    def command(self, message: dict[str, Any]) -> None:
        if message.get("do") == "run":
            self.running = message["run"]
        if message.get("do") in ("run", "cancel", "ping"):  # nobody ends the workers from outside
            for link in list(self.ranks.values()):
                link.send(**message)


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(argv)
    secret = os.environ.get("LOPA_SECRET", "").encode()
    if len(secret) < 8:
        sys.exit("LOPA_SECRET has to hold a secret of at least 8 characters, the same for all ranks and for the app.")
    number, count, local = (int(os.environ.get(name, default)) for name, default in (("RANK", 0), ("WORLD_SIZE", 1), ("LOCAL_RANK", 0)))
    host, port = split_address(args.listen)
    gate = Gate((host, port), secret, count) if number == 0 else None
    worker = Worker(Link(reach(("127.0.0.1" if number == 0 else os.environ["MASTER_ADDR"], port), secret)), number)
    worker.link.send(rank=number)
    rank = begin(args, local, count)
    worker.model = model = rank.model
    names: list[str] = [""] * count
    dist.all_gather_object(names, model.hardware)
    if gate:
        gate.complete.wait(MEETING)
        told = {"notices": model.config.notices, "shifted": model.config.shifted}
        gate.about = {"model": model.name, "devices": names, "dtype": model.health()["dtype"], **told}
        print(f"{count} workers are ready; attach with: python app.py --connect {host}:{port}", flush=True)
    worker.serve(rank, names)


def begin(args: argparse.Namespace, local: int, count: int) -> Rank:
    """Load, and meet the other ranks where torchrun says; what cannot be is a sentence."""
    try:
        ranks.check_teams(count, args.tensor)
        device = ranks.place(args.device, local)
        return ranks.join(args, ranks.load(args, device), device)
    except ModelError as error:
        sys.exit(str(error))


def reach(address: tuple[str, int], secret: bytes, patience: float = MEETING) -> Connection:
    """A connection to the gate, which may not be open yet. Raises AuthenticationError for a wrong secret, OSError if nobody is there."""
    until = time.monotonic() + patience
    while True:
        try:
            return Client(address, authkey=secret)
        except (ConnectionRefusedError, socket.gaierror):
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def split_address(text: str) -> tuple[str, int]:
    """HOST:PORT. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"{text!r} is no HOST:PORT.")
    return host, int(port)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="lopa_core.runtime.gateway", description="Workers for an app to attach to; start with torchrun.")
    ranks.add_flags(parser)
    parser.add_argument("--listen", default="127.0.0.1:7900", metavar="HOST:PORT", help="where rank 0 waits for the app (%(default)s)")
    parser.add_argument("--device", help="cpu or cuda:N (default: the GPU of the local rank, if there are any)")
    args = parser.parse_args(argv)
    try:
        split_address(args.listen)
    except ValueError as error:
        parser.error(f"argument --listen: {error}")
    return args


if __name__ == "__main__":
    main()
