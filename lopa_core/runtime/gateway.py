"""Workers that somebody else starts: torchrun on one machine or many, with one app attached by address.

    LOPA_SECRET=... torchrun --nproc-per-node 8 -m lopa_core.runtime.gateway --model DIR --listen 0.0.0.0:7900
    LOPA_SECRET=... python app.py --model DIR --connect HOST:7900

Rank 0 keeps the gate (runtime/gate.py), to which all connect; both sides have to know the secret. What follows is not
encrypted, so across networks go through a tunnel. The workers outlive apps: one that leaves has its run cancelled, and
the next may attach.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

import torch.distributed as dist

from ..model.errors import ModelError
from . import rank as ranks
from .crew import HOPELESS
from .gate import Gate
from .joining import MEETING, identity
from .rank import Rank
from .wire import Link
from .worker import Worker

ANSWER = 30.0  # seconds in which a gate has to answer a caller; an app may have to wait for another's place
SENDING = 5.0  # seconds that a gate may leave unread what an app sends


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(argv)
    secret = os.environ.get("LOPA_SECRET", "").encode()
    if len(secret) < 8:
        sys.exit("LOPA_SECRET has to hold a secret of at least 8 characters, the same for all ranks and for the app.")
    number, count, local = (int(os.environ.get(name, default)) for name, default in (("RANK", 0), ("WORLD_SIZE", 1), ("LOCAL_RANK", 0)))
    host, port = split_address(args.listen)
    gate = Gate((host, port), secret, count) if number == 0 else None
    link = reach(("127.0.0.1" if number == 0 else os.environ["MASTER_ADDR"], port), secret)
    link.limit(receive=0, send=0)  # no app may come for long, and one that reads slowly must not end the workers
    worker = Worker(link, number)
    worker.link.send(rank=number)
    rank = begin(args, local, count)
    worker.model = model = rank.model
    names: list[str] = [""] * count
    dist.all_gather_object(names, model.hardware)
    if gate:
        gate.complete.wait(MEETING)
        about = {"devices": names, "dtype": model.health()["dtype"], "notices": model.config.notices}
        gate.about = {"model": model.name, "identity": identity(model.source, model.commit, model.config), **about}
        print(f"{count} workers are ready; attach with: python app.py --connect {host}:{port}", flush=True)
    worker.serve(rank, names)


def begin(args: argparse.Namespace, local: int, count: int) -> Rank:
    """Load, and meet the other ranks where torchrun says; what cannot be is a sentence, and a code that says so to a launcher."""
    try:
        ranks.check_teams(count, args.tensor)
        device = ranks.place(args.device, local)
        model = ranks.load(args, device)
        store, number, _ = next(dist.rendezvous("env://", timeout=timedelta(seconds=MEETING)))
        return ranks.join(args, model, device, store, number, count)
    except ModelError as error:
        print(error, file=sys.stderr, flush=True)
        sys.exit(HOPELESS)


def reach(address: tuple[str, int], secret: bytes, patience: float = MEETING) -> Link:
    """A link to the gate, which may not be open yet; it reads for ANSWER seconds at most until told otherwise.

    Raises AuthenticationError for a wrong secret, OSError where nobody is there, EOFError where it hangs up.
    """
    until = time.monotonic() + patience
    while True:
        try:
            line = socket.create_connection(address, timeout=ANSWER)
        except (ConnectionRefusedError, socket.gaierror):
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return introduce(line, secret)


def introduce(line: socket.socket, secret: bytes) -> Link:
    """Prove to the gate that the secret is known, and have it prove the same."""
    line.settimeout(None)  # Connection waits by itself
    link = Link(Connection(line.detach()))
    try:
        link.limit(receive=ANSWER, send=SENDING)
        answer_challenge(link.connection, secret)
        deliver_challenge(link.connection, secret)
    except AssertionError:
        link.close()
        raise ConnectionError("something else answers there") from None
    except Exception:
        link.close()
        raise
    return link


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
