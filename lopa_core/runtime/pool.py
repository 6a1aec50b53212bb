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

from .crew import HOPELESS, Crew, Member, Patience
from .wire import Link

log = logging.getLogger(__name__)
STEPS = ("starting", "loading", "loaded", "ready")
FAREWELL = 1.0  # seconds from when a worker has closed its link until it has ended by itself
ENDING = 10.0  # seconds in which a killed process has to be gone


@dataclass(slots=True, kw_only=True)
class Peer(Member):
    """A worker of this pool."""

    process: subprocess.Popen
    link: Link


class Pool(Crew):
    """devices: one worker each. arguments: what every worker is told besides, such as --model. tensor: how many of them
    share one copy of the network, so that they only work in teams of this size. module: the worker's."""

    def __init__(
        self, devices: Sequence[str], arguments: Sequence[str], patience: Patience | None = None, module: str = "lopa_core.runtime.worker",
        tensor: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(patience or Patience(), devices)
        self.wanted, self.arguments, self.module, self.tensor = list(devices), list(arguments), module, tensor
        self.left_out: list[str] = []  # devices that cannot be used, and why
        self.supervisor = threading.Thread(target=self.supervise, name="pool", daemon=True)
        self.supervisor.start()
        self.start_heart()

    def tell(self, **message: Any) -> bool:
        reached = [peer.link.send(**message) for peer in self.peers]
        return all(reached)

    def ask(self, number: int, peers: Sequence[Peer]) -> None:
        """A silent one gets no more: what it has got it answers when it goes on, and its socket must not fill up."""
        for peer in peers:
            if not self.silent(peer):
                peer.link.send(do="ping", ping=number)

    def restart(self, why: str, peers: Sequence[Peer]) -> None:
        """Let go of the run under way and of its workers; the supervisor then starts new ones."""
        with self.changed:
            if self.peers is peers and not self.fault:
                self.fault = why
                self.break_off("starting", why)
        end(peers)

    def become(self, state: str, reason: str) -> None:
        super().become(*("closed", "") if self.closing.is_set() else (state, reason))

    def close(self) -> None:
        """End the workers; nothing of them is left afterwards."""
        self.closing.set()
        self.break_off("closed", "")
        end(self.peers)
        self.supervisor.join(timeout=10)

    # ---- the supervisor's thread ----------------------------------------------------------------------------------------

    def supervise(self) -> None:
        try:
            self.keep_up()
        except Exception as error:  # nobody else would hear of it
            log.exception("The supervisor of the workers failed")
            self.break_off("failed", f"{type(error).__name__}: {error}")

    def keep_up(self) -> None:
        """Start, listen, and after a fault start again, on fewer devices if one keeps failing before it is ready."""
        failures = 0
        while not self.closing.is_set():
            culprit = self.attempt()
            failures = 0 if self.came_up else failures + 1
            if self.hopeless or (failures >= 2 and not self.degrade(culprit)):
                self.become("failed", self.fault)
                return
            self.become("starting", self.fault)
            self.closing.wait(min(self.patience.rest * 2**failures, self.patience.longest_rest))

    def degrade(self, culprit: Peer | None) -> bool:
        """Go on without the device that keeps failing, in whole teams; False if too few are left, or none is to blame."""
        if culprit is None or len(self.wanted) <= self.tensor:
            return False
        log.error("Going on without %s: %s", culprit.device, self.fault)
        self.left_out.append(f"{self.wanted.pop(culprit.rank)} is left out: {self.fault}")
        spare = len(self.wanted) % self.tensor
        self.left_out += [f"{device} has no team." for device in self.wanted[len(self.wanted) - spare :]]
        del self.wanted[len(self.wanted) - spare :]
        return True

    def attempt(self) -> Peer | None:
        """Start workers and see to them until the pool is closed or one of them fails; returns that one."""
        self.came_up, self.hopeless, self.fault = False, False, ""
        with tempfile.TemporaryDirectory(prefix="lopa-") as folder:
            try:
                self.begin(Path(folder) / "store")
                return self.listen()
            except OSError as error:  # of `begin`: too many processes or open files
                self.fault = f"A worker cannot be started: {error.strerror}."
                return None
            finally:
                peers, self.peers = self.peers, []
                end(peers)
                for peer in peers:
                    peer.link.close()

    def begin(self, store: Path) -> None:
        self.peers = []
        for rank, device in enumerate(self.wanted):
            self.peers.append(spawn(self.module, rank, len(self.wanted), device, store, self.arguments, self.patience))

    def listen(self) -> Peer | None:
        """Take in messages until a worker is gone or the pool is closed; returns the worker, if it was one."""
        deadline = time.monotonic() + self.patience.start
        links = {peer.link.connection: peer for peer in self.peers}
        while not self.closing.is_set():
            if not self.came_up and time.monotonic() > deadline:
                slow = min(self.peers, key=lambda peer: STEPS.index(peer.at))
                self.fault = f"{slow.device} was not ready within {self.patience.start:g} seconds."
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
            self.take_pong(peer, message)
        elif "run" in message:
            self.take_run(message | {"rank": peer.rank})
        elif message["at"] == "failed":
            self.fault, self.hopeless = message["error"], message["hopeless"]
        else:
            self.progress(peer, message)

    def progress(self, peer: Peer, message: dict[str, Any]) -> None:
        """A step of a worker's start."""
        peer.at = message["at"]
        if peer.at == "loaded":
            peer.name, self.dtype = message["device"], message["dtype"]
            self.notices = tuple(message.get("notices", ()))
        steps = [each.at for each in self.peers]
        if all(step == "ready" for step in steps):
            self.came_up = True
            self.become("degraded" if self.left_out else "ready", " ".join(self.left_out))
        elif all(step in ("loaded", "ready") for step in steps):
            if peer.at == "loaded":
                self.meet()
        else:
            self.become(f"loading {sum(step in ('loaded', 'ready') for step in steps) + 1} of {len(steps)}", self.reason)

    def meet(self) -> None:
        """All have loaded: tell each the names of all devices and let them begin."""
        self.become("warming", self.reason)
        self.names = tuple(peer.name for peer in self.peers)
        self.tell(do="go", devices=self.names)

    def lost(self, peer: Peer) -> Peer:
        with contextlib.suppress(subprocess.TimeoutExpired):
            peer.process.wait(FAREWELL)
        end([peer])
        code = peer.process.poll()
        self.hopeless |= code == HOPELESS
        how = f"The worker on {peer.device} " + (f"was killed by signal {-code}." if code and code < 0 else f"ended with code {code}.")
        log.error("%s", how)
        self.restart(how, self.peers)
        return peer


def end(peers: Sequence[Peer]) -> None:
    for peer in peers:
        peer.process.kill()
    for peer in peers:
        try:
            peer.process.wait(ENDING)
        except subprocess.TimeoutExpired:  # its driver is stuck: nothing can be done about it from here
            log.error("The worker on %s (process %s) does not end", peer.device, peer.pid)


def spawn(module: str, rank: int, ranks: int, device: str, store: Path, arguments: Sequence[str], patience: Patience) -> Peer:
    """A worker process at the other end of a socket pair."""
    mine, its = socket.socketpair()
    link = Link(connection.Connection(mine.detach()))
    link.limit(send=patience.answer)  # it may not be reading
    command = [
        sys.executable, "-m", module, "--link", str(its.fileno()), "--rank", str(rank), "--ranks", str(ranks),
        "--store", str(store), "--device", device, "--timeout", str(patience.silence), *arguments,
    ]  # fmt: skip
    with its:
        process = subprocess.Popen(command, pass_fds=[its.fileno()], env=environment(), stdin=subprocess.DEVNULL)
    return Peer(rank=rank, device=device, pid=process.pid, process=process, link=link)


def environment() -> dict[str, str]:
    """For a worker: it finds this package from any folder, and its peers on this machine without a network."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"GLOO_SOCKET_IFNAME": "lo"} | os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
