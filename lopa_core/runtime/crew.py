"""Workers as the app asks them, however they were started: one run at a time, cancelled in step, health at any time.

What happens to them becomes either a message of the run under way or a change of `state`. A thread, the heart, asks each
of them for a sign of life every second: health is what they said last, so that nobody who asks waits for one that hangs,
and a run ends soon after one of them has gone silent. Workers answer beside a forward, however long it takes.
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
HOPELESS = 78  # a worker's exit code where starting it again cannot help; EX_CONFIG of sysexits.h


class PoolFault(ModelError):
    """The workers cannot do what was asked; the message is for a person."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """Seconds. start: from a worker's start until it is ready; silence: without a sign of a run (a collective may take
    this long); answer: until one that says nothing counts as not answering; beat: between two questions of the heart, of
    which `missed` may go unanswered in a run; rest: before the next attempt, doubled each time up to longest_rest."""

    start: float = 900.0
    silence: float = 60.0
    answer: float = 5.0
    beat: float = 1.0
    missed: int = 10
    rest: float = 1.0
    longest_rest: float = 60.0


@dataclass(slots=True)
class Member:
    """One worker. at: starting, loading, loaded, ready; name: its device in words, once it has told; pong: its last answer,
    `heard` on time.monotonic; missed: questions asked since then. They are counted, not timed: after this process itself
    has stood still nobody has missed more than one."""

    rank: int
    device: str
    at: str = "starting"
    name: str = ""
    pid: int | None = None
    pong: dict[str, Any] = field(default_factory=lambda: {"pong": 0})
    heard: float = 0.0
    missed: int = 0


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
        self.closing = threading.Event()

    @abstractmethod
    def tell(self, **message: Any) -> bool:
        """Send to all workers; False where one of them could not be reached."""

    @abstractmethod
    def ask(self, number: int, peers: Sequence[Member]) -> None:
        """Send a ping to those of `peers` that can be expected to read it."""

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
            if "silent" in message:
                self.give_up(call, f"has said nothing for {self.patience.beat * self.patience.missed:g} seconds")
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
        """State and of each worker its device, memory and what it does, as it said `age` seconds ago. Asks nobody, so never waits."""
        workers = [self.about(peer) for peer in list(self.peers)]
        return {"state": self.state, "reason": self.reason, "dtype": self.dtype, "workers": workers}

    def about(self, peer: Member) -> dict[str, Any]:
        """`answers` is False where it has said nothing for too long; age is None where it never has."""
        told, pong = {"rank": peer.rank, "device": peer.name or peer.device, "at": peer.at, "pid": peer.pid}, peer.pong
        if not pong["pong"]:
            return told | {"answers": False, "age": None}
        age = round(time.monotonic() - peer.heard, 1)
        if age > self.patience.answer:
            return told | {"answers": False, "age": age}
        return told | {"answers": True, "age": age} | {name: pong[name] for name in ("memory", "running", "rounds")}

    def start_heart(self) -> None:
        threading.Thread(target=self.heart, name="heart", daemon=True).start()

    def heart(self) -> None:
        while not self.closing.wait(self.patience.beat):
            self.beat()

    def beat(self) -> None:
        """Ask all workers for a sign of life, and tell the run under way of those that have been silent for too long."""
        peers, call = self.peers, self.call
        for peer in peers:
            peer.missed += 1
        if peers:
            self.ask(next(self.numbers), peers)
        if call is not None and any(peer.rank in call.waiting and self.silent(peer) for peer in call.peers):
            call.inbox.put({"silent": True})

    def silent(self, peer: Member) -> bool:
        return peer.missed > self.patience.missed

    def take_pong(self, peer: Member, message: dict[str, Any]) -> None:
        peer.pong, peer.heard, peer.missed = message, time.monotonic(), 0

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
