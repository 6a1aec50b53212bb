"""Workers as the app asks them, however they were started: one run at a time, cancelled in step, health that is asked for.

What happens to them becomes either a message of the run under way or a change of `state`.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..model.errors import ModelError

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
class Member:
    """One worker. at: starting, loading, loaded, ready; name: its device in words, once it has told."""

    rank: int
    device: str
    at: str = "starting"
    name: str = ""
    pid: int | None = None
    pongs: queue.Queue = field(default_factory=queue.Queue)


class Crew:
    """The asking side. A subclass fills `peers` and hands over what they send by `take_run` and `become`."""

    def __init__(self, patience: Patience, names: Sequence[str]) -> None:
        self.patience = patience
        self.names: tuple[str, ...] = tuple(names)  # the devices, in words once the workers have told
        self.peers: Sequence[Member] = []
        self.state, self.reason, self.dtype = "starting", "", ""
        self.changed = threading.Condition()
        self.inbox: queue.Queue[dict[str, Any] | None] | None = None
        self.one_run = threading.Lock()
        self.numbers = itertools.count(1)

    def tell(self, **message: Any) -> None:
        """Send to all workers."""
        raise NotImplementedError

    def restart(self, why: str) -> None:
        """Let go of workers that do not answer."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

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
                waiting = {peer.rank for peer in self.peers}
            number = next(self.numbers)
            self.tell(do="run", run=number, **request)
            try:
                yield from self.messages(inbox, number, waiting)
            finally:
                if waiting:  # somebody has left, or something went wrong
                    self.cancel(inbox, number, waiting)
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

    def cancel(self, inbox: queue.Queue, number: int, waiting: set[int]) -> None:
        """End the run on all ranks; they do so in the same round."""
        self.tell(do="cancel", run=number)
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
        self.tell(do="ping", ping=number)
        until = time.monotonic() + self.patience.answer
        return {"state": self.state, "reason": self.reason, "dtype": self.dtype, "workers": [told(peer, number, until) for peer in asked]}

    def take_run(self, message: dict[str, Any]) -> None:
        """A message of a run, with the rank it comes from."""
        inbox = self.inbox
        if inbox is not None:
            inbox.put(message)

    def break_off(self, state: str, why: str) -> None:
        """End the run under way: its workers are gone."""
        self.become(state, why)  # first, so that nobody asks the old workers once the run has heard
        inbox = self.inbox
        if inbox is not None:
            inbox.put(None)

    def become(self, state: str, reason: str) -> None:
        with self.changed:
            self.state, self.reason = state, reason
            self.changed.notify_all()


def told(peer: Member, number: int, until: float) -> dict[str, Any]:
    """What a worker answers to a ping; `answers` is False if it does not in time."""
    about = {"rank": peer.rank, "device": peer.name or peer.device, "at": peer.at, "pid": peer.pid}
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
