"""Pools of workers for tests: impatient ones but for their start, which takes long on a busy machine; and what is asked of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from lopa_core.decode.settings import DecodeSettings
from lopa_core.model.family import read_config
from lopa_core.runtime.crew import Patience
from lopa_core.runtime.pool import Pool
from lopa_core.runtime.race import Lanes
from lopa_core.runtime.remote import RemoteRace

from .models import MODELS

PROMPT = [165, 485, 77, 202, 333, 24, 37]
SETTINGS = DecodeSettings(max_new_tokens=32, block_size=8, tau_add=0.1)
LANES = {"confidence": SETTINGS.decoder("confidence"), "lopa": SETTINGS}
QUICK = Patience(start=300, silence=30, answer=4, beat=0.1, missed=100, rest=0.1, longest_rest=0.4)


class Stage:
    """A pool of two workers with dream-a that fail on demand (helpers/faulty_worker.py)."""

    def __init__(self, faults: Path, patience: Patience = QUICK) -> None:
        self.faults = faults
        told = ["--model", str(MODELS / "dream-a"), "--threads", "1", "--faults", str(faults)]
        self.pool = Pool(["cpu", "cpu:0"], told, patience, "tests.helpers.faulty_worker")
        self.config = read_config(MODELS / "dream-a")

    def race(self, lanes: Lanes = LANES, forced: Mapping[int, int] | None = None, *, warm: bool = False) -> RemoteRace:
        return RemoteRace(self.pool, self.config, PROMPT, lanes, forced, warm)

    def fault(self, name: str, word: str) -> None:
        """There as a whole at once: workers look for it all the time."""
        (self.faults / "new").write_text(word)
        (self.faults / "new").rename(self.faults / name)

    def mend(self, name: str) -> None:
        (self.faults / name).unlink()

    def ready(self) -> None:
        """Both workers there, nothing of an earlier fault left."""
        for file in self.faults.iterdir():
            file.unlink()
        self.pool.wait(300)
        assert self.pool.state == "ready"

    def pids(self) -> list[int]:
        return [peer.pid for peer in self.pool.peers]

    def rounds(self) -> list[int]:
        """Rounds that each worker has run since it was started."""
        return [told["rounds"] for told in self.health()]

    def health(self) -> list[dict[str, Any]]:
        """What the workers say to a question that is asked from now on."""
        now = next(self.pool.numbers)
        until(lambda: all(peer.pong["pong"] > now for peer in self.pool.peers))
        return self.pool.health()["workers"]


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until it holds; a busy machine is no fault."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not come to that"
        time.sleep(0.01)


def finish(race: RemoteRace) -> list[tuple[str, Any]]:
    """All that a race tells."""
    return list(race.run())


def send(pid: int, what: signal.Signals) -> None:
    """Send a signal; where it is to stand still, wait until every thread of it does: one may still answer a question."""
    os.kill(pid, what)
    until = time.monotonic() + 10
    while what == signal.SIGSTOP and any(state(thread) not in "tTZX" for thread in Path(f"/proc/{pid}/task").iterdir()):
        assert time.monotonic() < until, f"{pid} does not stop"
        time.sleep(0.001)


def state(process: Path) -> str:
    """The letter by which the kernel tells what a process or a thread does; its folder under /proc is given."""
    return (process / "stat").read_text().rpartition(")")[2].split()[0]


def gone(pid: int) -> bool:
    """Whether a process has ended; one that only its parent has not asked for yet counts as ended."""
    try:
        return state(Path(f"/proc/{pid}")) in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def all_gone(pids: Iterable[int], within: float) -> bool:
    until, pids = time.monotonic() + within, list(pids)
    while time.monotonic() < until and not all(map(gone, pids)):
        time.sleep(0.02)
    return all(map(gone, pids))
