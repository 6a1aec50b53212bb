"""A worker without a network, there in a moment: python -m tests.helpers.fake_worker --faults FOLDER ...

It starts, exits or hangs as the word in FOLDER/<device> says, and notes in FOLDER/attempts when it was started.
"""

from __future__ import annotations

import argparse
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

from lopa_core.runtime.crew import HOPELESS
from lopa_core.runtime.wire import Link


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--link", type=int)
    parser.add_argument("--device")
    parser.add_argument("--faults", type=Path)
    args, _ = parser.parse_known_args()
    link, told = Link(Connection(args.link)), args.faults / args.device
    with (args.faults / "attempts").open("a") as attempts:
        attempts.write(f"{args.device} {time.monotonic()}\n")
    start(link, args.device, told.read_text() if told.exists() else "")
    serve(link)


def start(link: Link, device: str, fault: str) -> None:
    if fault == "exit":
        sys.exit(3)
    if fault == "hang":
        time.sleep(60)
    link.send(at="loading")
    if fault == "hopeless":
        sys.exit(HOPELESS)
    if fault in ("refuse", "refuse for ever"):
        link.send(at="failed", error=f"{device} is no good.", hopeless=fault == "refuse for ever")
        sys.exit(1)
    if fault == "slow":
        time.sleep(60)
    link.send(at="loaded", device=f"Fake {device}", dtype="float32")


def serve(link: Link) -> None:
    """Answer pings and be ready once told to go; a run is never ended."""
    while True:
        try:
            message = link.receive()
        except EOFError:
            return
        match message["do"]:
            case "ping":
                link.send(pong=message["ping"], running=None, rounds=0, memory={"used": 0, "total": 0})
            case "go":
                link.send(at="ready")


if __name__ == "__main__":
    main()
