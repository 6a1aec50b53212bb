"""Workers as the app asks them, however they were started: one run at a time, cancelled in step, health that is asked for.

What happens to them becomes either a message of the run under way or a change of `state`.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

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
    """One worker. at: starting, loading, loaded, ready; name: its device in words, once it has told; pong: its last answer."""

    rank: int
    device: str
    at: str = "starting"
    name: str = ""
    pid: int | None = None
    pong: dict[str, Any] = field(default_factory=lambda: {"pong": 0})


@dataclass(slots=True)
class Call:
    """A run under way. waiting: the ranks that have not ended it; inbox: what they tell of it, None once they are gone."""

    number: int
    peers: Sequence[Member]
    waiting: set[int]
    inbox: queue.Queue[dict[str, Any] | None] = field(default_factory=queue.Queue)


class Crew(ABC):
    """The asking side. A subclass fills `peers`, with a new list for new workers, and hands over what they send.

    state: starting (in words of the subclass), ready, degraded, failed, closed; reason: why, where there is one.
    """

    def __init__(self, patience: Patience, names: Sequence[str]) -> None:
        self.patience = patience
        self.names: tuple[str, ...] = tuple(names)  # the devices, in words once the workers have told
        self.peers: Sequence[Member] = []
        self.state, self.reason, self.dtype = "starting", "", ""
        self.notices: tuple[str, ...] = ()  # of the checkpoint, once it is loaded
        self.changed = threading.Condition()
        self.call: Call | None = None
        self.one_run = threading.Lock()
        self.numbers = itertools.count(time.time_ns())  # workers may outlive an app: its numbers are not the next one's

    @abstractmethod
    def tell(self, **message: Any) -> bool:
        """Send to all workers; False where one of them could not be reached."""

    @abstractmethod
    def restart(self, why: str, peers: Sequence[Member]) -> None:
        """Let go of workers that do not answer, unless that has happened already."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the workers for good."""

    def wait(self, timeout: float) -> None:
        """Until it is ready. Raises PoolFault if it has failed, or is not ready in time."""
        with self.changed:
            self.changed.wait_for(lambda: self.works or self.state in ("failed", "closed"), timeout)
        if not self.works:
            raise PoolFault(self.excuse())

    @property
    def works(self) -> bool:
        return self.state in ("ready", "degraded")

    def excuse(self) -> str:
        """Why nothing can be run now."""
        if self.state == "failed":
            return f"The workers cannot be started: {self.reason or 'see the log'}"
        if self.state == "closed":
            return "The workers have been stopped."
        because = f"; {self.reason.removesuffix('.')}" if self.reason else ""
        return f"The model is not ready yet ({self.state}{because}): please try again in a moment."

    def run(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Messages of a run until it has ended; leaving it cancels. Raises PoolFault. Runs wait for each other."""
        with self.one_run:
            with self.changed:
                if not self.works:
                    raise PoolFault(self.excuse())
                call = self.call = Call(next(self.numbers), self.peers, {peer.rank for peer in self.peers})
            try:
                if not self.tell(do="run", run=call.number, **request):
                    self.give_up(call, "could not be reached")
                yield from self.messages(call)
            finally:
                if call.waiting:  # somebody has left
                    self.cancel(call)
                self.call = None

    def messages(self, call: Call) -> Iterator[dict[str, Any]]:
        """What rank 0 tells of the run until all ranks have ended it."""
        faults = []
        while call.waiting:
            try:
                message = call.inbox.get(timeout=self.patience.silence + self.patience.answer)
            except queue.Empty:
                self.give_up(call, "did not answer in time")
            if message is None:
                call.waiting.clear()
                raise PoolFault(self.ended("ended unexpectedly"))
            if "ended" in message:
                call.waiting.discard(message["rank"])
                faults += [message] if message["ended"] not in ("finished", "cancelled") else []
            else:
                yield message
        if faults:
            raise PoolFault(words(faults))

    def give_up(self, call: Call, how: str) -> NoReturn:
        call.waiting.clear()
        self.restart(f"A worker {how}.", call.peers)
        raise PoolFault(self.ended(how))

    def cancel(self, call: Call) -> None:
        """End the run on all ranks; they do so in the same round."""
        self.tell(do="cancel", run=call.number)
        try:
            for _ in self.messages(call):
                pass
        except PoolFault as fault:
            log.warning("A cancelled run ended with: %s", fault)

    def ended(self, how: str) -> str:
        if self.state == "closed":
            return "The workers were stopped, so the run was broken off; what it had decoded is kept."
        return f"A worker {how}, so the run was broken off; what it had decoded is kept. The workers are being started again."

    def health(self) -> dict[str, Any]:
        """State and, from each worker that answers, its device, memory and what it does."""
        asked, number = list(self.peers), next(self.numbers)
        self.tell(do="ping", ping=number)
        until = time.monotonic() + self.patience.answer
        workers = [self.answer(peer, number, until) for peer in asked]
        return {"state": self.state, "reason": self.reason, "dtype": self.dtype, "workers": workers}

    def answer(self, peer: Member, number: int, until: float) -> dict[str, Any]:
        """What a worker says to a ping, or to a later one of somebody else; `answers` is False if it does not in time."""
        about = {"rank": peer.rank, "device": peer.name or peer.device, "at": peer.at, "pid": peer.pid}
        with self.changed:
            if not self.changed.wait_for(lambda: peer.pong["pong"] >= number, until - time.monotonic()):
                return about | {"answers": False}
        return about | {"answers": True} | {name: peer.pong[name] for name in ("memory", "running", "rounds")}

    def take_pong(self, peer: Member, message: dict[str, Any]) -> None:
        with self.changed:
            peer.pong = max(peer.pong, message, key=lambda each: each["pong"])  # pings of two threads may be sent out of order
            self.changed.notify_all()

    def take_run(self, message: dict[str, Any]) -> None:
        """A message of a run, with the rank it comes from; the tail of a run before is of no interest."""
        call = self.call
        if call is not None and message["run"] == call.number:
            call.inbox.put(message)

    def break_off(self, state: str, why: str) -> None:
        """End the run under way: its workers are gone."""
        self.become(state, why)  # first, so that nobody asks the old workers once the run has heard
        call = self.call
        if call is not None:
            call.inbox.put(None)

    def become(self, state: str, reason: str) -> None:
        with self.changed:
            self.state, self.reason = state, reason
            self.changed.notify_all()


def words(faults: Sequence[dict[str, Any]]) -> str:
    """The fault of a run that the workers have survived, in a sentence; a rank's own word goes before its peers'."""
    first = next((each for each in faults if each["ended"] != "peer"), faults[0])
    if first["ended"] == "memory":
        return f"Worker {first['rank']} ran out of memory, so the run was broken off: take fewer branches or fewer new tokens."
    if first["ended"] == "peer":
        return f"The workers fell out of step ({first['error']}), so the run was broken off; please try again."
    return first["error"]
