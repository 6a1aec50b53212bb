"""The workers of one model, as the app sees them: started, watched, asked, and started anew when one of them fails.

The app's process never touches a GPU. A thread listens to all workers; whatever happens to them becomes either a
message of the run under way or a change of `state`:

    starting -> loading i of N -> warming -> ready | degraded (on fewer devices) -> failed
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any

from .crew import Crew, Member, Patience
from .wire import Link

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Peer(Member):
    """A worker of this pool."""

    process: subprocess.Popen
    link: Link


class Pool(Crew):
    """devices: one worker each. arguments: what every worker is told besides, such as --model."""

    def __init__(self, devices: Sequence[str], arguments: Sequence[str], patience: Patience | None = None) -> None:
        super().__init__(patience or Patience(), devices)
        self.wanted, self.asked, self.arguments = list(devices), len(devices), list(arguments)
        self.closing = threading.Event()
        self.supervisor = threading.Thread(target=self.supervise, name="pool", daemon=True)
        self.supervisor.start()

    def tell(self, **message: Any) -> None:
        for peer in self.peers:
            peer.link.send(**message)

    def close(self) -> None:
        """End the workers; nothing of them is left afterwards."""
        self.closing.set()
        self.end_peers()
        self.supervisor.join(timeout=10)

    # ---- the supervisor's thread ----------------------------------------------------------------------------------------

    def supervise(self) -> None:
        """Start, listen, and after a fault start again, on fewer devices if the same one keeps failing."""
        rest, failures = self.patience.rest, 0
        while not self.closing.is_set():
            with tempfile.TemporaryDirectory(prefix="lopa-") as folder:
                self.begin(Path(folder) / "store")
                culprit = self.listen()
                self.end_peers()
            if self.closing.is_set():
                break
            rest, failures = (self.patience.rest, 0) if self.came_up else (rest * 2, failures + 1)
            if failures >= 2 and not self.degrade(culprit):
                self.become("failed", self.reason)
                break
            self.become("starting", self.reason)
            self.closing.wait(min(rest, self.patience.longest_rest))

    def degrade(self, culprit: Peer | None) -> bool:
        """Go on without the device that keeps failing; False if none is left, or all are alike (one device only)."""
        if culprit is None or len(self.wanted) < 2:
            return False
        log.error("Going on without %s: %s", culprit.device, self.reason)
        self.wanted.pop(culprit.rank)
        return True

    def begin(self, store: Path) -> None:
        ranks, self.came_up = len(self.wanted), False
        self.peers = [spawn(rank, ranks, device, store, self.arguments, self.patience) for rank, device in enumerate(self.wanted)]
        self.become("starting", self.reason)

    def listen(self) -> Peer | None:
        """Take in messages until a worker is gone or the pool is closed; returns the worker, if it was one."""
        deadline = time.monotonic() + self.patience.start
        links = {peer.link.connection: peer for peer in self.peers}
        while not self.closing.is_set():
            if not self.works and time.monotonic() > deadline:
                slow = next(peer for peer in self.peers if peer.at != "ready")
                self.reason = f"{slow.device} was not ready within {self.patience.start:g} seconds."
                return slow
            for ready in connection.wait(list(links), timeout=0.2):
                peer = links[ready]
                try:
                    self.take(peer, peer.link.receive())
                except (EOFError, OSError, ValueError):
                    return None if self.closing.is_set() else self.lost(peer)
        return None

    def take(self, peer: Peer, message: dict[str, Any]) -> None:
        if "pong" in message:
            peer.pongs.put(message)
        elif "run" in message:
            self.take_run(message | {"rank": peer.rank})
        elif message.get("at") == "failed":
            self.reason = message["error"]
        else:
            self.progress(peer, message)

    def progress(self, peer: Peer, message: dict[str, Any]) -> None:
        """A step of a worker's start."""
        peer.at = message["at"]
        if peer.at == "loaded":
            peer.name, self.dtype = message["device"], message["dtype"]
        steps = [each.at for each in self.peers]
        if all(step == "ready" for step in steps):
            self.came_up = True
            self.become("ready" if len(self.wanted) == self.asked else "degraded", "")
        elif all(step in ("loaded", "ready") for step in steps):
            if peer.at == "loaded":
                self.meet()
        else:
            self.become(f"loading {sum(step in ('loaded', 'ready') for step in steps) + 1} of {len(steps)}", self.reason)

    def meet(self) -> None:
        """All have loaded: tell each the names of all devices and let them begin."""
        self.become("warming", self.reason)
        self.names = tuple(peer.name for peer in self.peers)
        for peer in self.peers:
            peer.link.send(do="go", devices=self.names)

    def lost(self, peer: Peer) -> Peer:
        peer.process.kill()  # the link is gone; so is the process, or it has to be
        code = peer.process.wait()
        log.error("The worker on %s ended with code %s", peer.device, code)
        self.reason = self.reason or f"the worker on {peer.device} ended with code {code}."
        self.restart(self.reason)
        return peer

    def restart(self, why: str) -> None:
        """Let go of the run under way and of all workers; the supervisor then starts new ones."""
        self.break_off("starting", why)
        self.end_peers()

    def end_peers(self) -> None:
        for peer in self.peers:
            with contextlib.suppress(OSError):
                peer.process.kill()
        for peer in self.peers:
            peer.process.wait()


def spawn(rank: int, ranks: int, device: str, store: Path, arguments: Sequence[str], patience: Patience) -> Peer:
    """A worker process at the other end of a socket pair."""
    mine, its = socket.socketpair()
    command = [
        sys.executable, "-m", "lopa_core.runtime.worker", "--link", str(its.fileno()), "--rank", str(rank), "--ranks", str(ranks),
        "--store", str(store), "--device", device, "--timeout", str(patience.silence), *arguments,
    ]  # fmt: skip
    with its:
        process = subprocess.Popen(command, pass_fds=[its.fileno()], env=environment(), stdin=subprocess.DEVNULL)
    return Peer(rank=rank, device=device, pid=process.pid, process=process, link=Link(connection.Connection(mine.detach())))


def environment() -> dict[str, str]:
    """For a worker: it finds this package from any folder, and its peers on this machine without a network."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"GLOO_SOCKET_IFNAME": "lo"} | os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
