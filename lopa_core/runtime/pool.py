"""The workers of one model, as the app sees them: started, watched, asked, and started anew when one of them fails.

The app's process never touches a GPU. A thread listens to all workers; whatever happens to them becomes either a
message of the run under way or a change of `state`:

    starting -> loading i of N -> warming -> ready | degraded (on fewer devices) -> failed
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import connection
from pathlib import Path
from typing import Any

from ..model.errors import ModelError
from .wire import Link

log = logging.getLogger(__name__)


class PoolFault(ModelError):
    """The workers cannot do what was asked; the message is for a person."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """Seconds. start: from a worker's start until it is ready; silence: without a sign of a run (a collective may take
    this long); answer: for a ping; rest: before the next attempt, doubled each time up to longest_rest."""

    start: float = 900.0
    silence: float = 60.0
    answer: float = 5.0
    rest: float = 1.0
    longest_rest: float = 60.0


@dataclass(slots=True)
class Peer:
    """One worker. at: starting, loading, loaded, ready."""

    rank: int
    device: str
    process: subprocess.Popen
    link: Link
    at: str = "starting"
    name: str = ""
    pongs: queue.Queue = field(default_factory=queue.Queue)


class Pool:
    """devices: one worker each. arguments: what every worker is told besides, such as --model."""

    def __init__(self, devices: Sequence[str], arguments: Sequence[str], patience: Patience | None = None) -> None:
        self.wanted, self.asked = list(devices), len(devices)
        self.arguments, self.patience = list(arguments), patience or Patience()
        self.names: tuple[str, ...] = tuple(devices)  # in words, once the workers have told
        self.peers: list[Peer] = []
        self.state, self.reason, self.dtype = "starting", "", ""
        self.changed = threading.Condition()
        self.inbox: queue.Queue[dict[str, Any] | None] | None = None
        self.one_run = threading.Lock()
        self.numbers = itertools.count(1)
        self.closing = threading.Event()
        self.supervisor = threading.Thread(target=self.supervise, name="pool", daemon=True)
        self.supervisor.start()

    # ---- what the app asks -------------------------------------------------------------------------------------------

    def wait(self, timeout: float) -> None:
        """Until it is ready. Raises PoolFault if it has failed, or is not ready in time."""
        with self.changed:
            self.changed.wait_for(lambda: self.works or self.state == "failed", timeout)
        if not self.works:
            raise PoolFault(self.excuse())

    @property
    def works(self) -> bool:
        return self.state in ("ready", "degraded")

    def excuse(self) -> str:
        """Why nothing can be run now."""
        if self.state == "failed":
            return f"The workers cannot be started: {self.reason or 'see the log'}"
        return f"The model is not ready yet ({self.state}): please try again in a moment."

    def run(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Messages of a run until it has ended; leaving it cancels. Raises PoolFault. Runs wait for each other."""
        with self.one_run:
            with self.changed:
                if not self.works:
                    raise PoolFault(self.excuse())
                inbox = self.inbox = queue.Queue()
                peers = list(self.peers)
            number = next(self.numbers)
            for peer in peers:
                peer.link.send(do="run", run=number, **request)
            waiting = {peer.rank for peer in peers}
            try:
                yield from self.messages(inbox, number, waiting)
            finally:
                if waiting:  # somebody has left, or something went wrong
                    self.cancel(inbox, peers, number, waiting)
                self.inbox = None

    def messages(self, inbox: queue.Queue, number: int, waiting: set[int]) -> Iterator[dict[str, Any]]:
        """What rank 0 tells of the run. waiting: the ranks that have not ended it; on a fault they are cleared away."""
        outcomes, faults = None, []
        while waiting:
            try:
                message = inbox.get(timeout=self.patience.silence + self.patience.answer)
            except queue.Empty:
                waiting.clear()
                self.restart("it did not answer for too long")
                raise PoolFault(self.ended("did not answer in time")) from None
            if message is None:  # a worker is gone; the supervisor starts all anew
                waiting.clear()
                raise PoolFault(self.ended("ended unexpectedly"))
            if message.get("run") != number:
                continue  # the tail of a run before
            if "ended" in message:
                waiting.discard(message["rank"])
                outcomes = message.get("outcomes") or outcomes
                faults += [message] if message["ended"] not in ("finished", "cancelled") else []
            else:
                yield message
        if faults:
            raise PoolFault(words(faults))
        if outcomes:
            yield {"outcomes": outcomes}

    def cancel(self, inbox: queue.Queue, peers: Sequence[Peer], number: int, waiting: set[int]) -> None:
        """End the run on all ranks; they do so in the same round."""
        for peer in peers:
            peer.link.send(do="cancel", run=number)
        try:
            for _ in self.messages(inbox, number, waiting):
                pass
        except PoolFault as fault:
            log.warning("A cancelled run ended with: %s", fault)

    def ended(self, how: str) -> str:
        return f"A worker {how}, so the run was broken off; what it had decoded is kept. The workers are being started again."

    def health(self) -> dict[str, Any]:
        """State and, from each worker that answers, its device, memory and what it does."""
        asked = list(self.peers)
        number = next(self.numbers)
        for peer in asked:
            peer.link.send(do="ping", ping=number)
        until = time.monotonic() + self.patience.answer
        return {"state": self.state, "reason": self.reason, "dtype": self.dtype, "workers": [told(peer, number, until) for peer in asked]}

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
            inbox = self.inbox
            if inbox is not None:
                inbox.put(message | {"rank": peer.rank})
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
        self.become("starting", why)  # first, so that nobody asks the old workers once the run has heard
        inbox = self.inbox
        if inbox is not None:
            inbox.put(None)
        self.end_peers()

    def end_peers(self) -> None:
        for peer in self.peers:
            with contextlib.suppress(OSError):
                peer.process.kill()
        for peer in self.peers:
            peer.process.wait()

    def become(self, state: str, reason: str) -> None:
        with self.changed:
            self.state, self.reason = state, reason
            self.changed.notify_all()


def spawn(rank: int, ranks: int, device: str, store: Path, arguments: Sequence[str], patience: Patience) -> Peer:
    """A worker process at the other end of a socket pair."""
    mine, its = socket.socketpair()
    command = [
        sys.executable, "-m", "lopa_core.runtime.worker", "--link", str(its.fileno()), "--rank", str(rank), "--ranks", str(ranks),
        "--store", str(store), "--device", device, "--timeout", str(patience.silence), *arguments,
    ]  # fmt: skip
    with its:
        process = subprocess.Popen(command, pass_fds=[its.fileno()], env=environment(), stdin=subprocess.DEVNULL)
    return Peer(rank, device, process, Link(connection.Connection(mine.detach())))


def environment() -> dict[str, str]:
    """For a worker: it finds this package from any folder, and its peers on this machine without a network."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"GLOO_SOCKET_IFNAME": "lo"} | os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def told(peer: Peer, number: int, until: float) -> dict[str, Any]:
    """What a worker answers to a ping; `answers` is False if it does not in time."""
    about = {"rank": peer.rank, "device": peer.name or peer.device, "at": peer.at, "pid": peer.process.pid}
    while True:
        try:
            pong = peer.pongs.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return about | {"answers": False}
        if pong["pong"] == number:
            return about | {"answers": True, "memory": pong["memory"], "running": pong["running"], "rounds": pong["rounds"]}


def words(faults: Sequence[dict[str, Any]]) -> str:
    """The fault of a run that the workers have survived, in a sentence; a rank's own word goes before its peers'."""
    first = next((each for each in faults if each["ended"] != "peer"), faults[0])
    if first["ended"] == "memory":
        return f"Worker {first['rank']} ran out of memory, so the run was broken off: take fewer branches or fewer new tokens."
    if first["ended"] == "peer":
        return f"The workers fell out of step ({first['error']}), so the run was broken off; please try again."
    return first["error"]
