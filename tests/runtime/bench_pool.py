"""What a pool of workers costs and whether it grows: python -m tests.runtime.bench_pool [--requests 200], prints JSON.

- requests in a row to two workers with the embedded model, every fifth left early, and one worker killed half-way:
  memory, open files and threads of app and workers before and after;
- a round of 8 branches of 64 masked slots on two ranks and in one process: milliseconds and bytes (bench_round.py).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from lopa_core.decode.settings import DecodeSettings
from lopa_core.model.presets import PRESETS
from lopa_core.model.source import read_source
from lopa_core.runtime.crew import Patience, PoolFault
from lopa_core.runtime.pooled import PooledModel, open_pool
from lopa_core.tasks.examples import EXAMPLES

from ..helpers.pools import all_gone
from .bench_round import cost_of_rounds

PRESET = PRESETS["lopa-tiny"]
SETTINGS = DecodeSettings(**PRESET.settings)


def held(pid: int) -> dict[str, Any]:
    """What a process holds."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    files = len(os.listdir(f"/proc/{pid}/fd"))
    return {"megabytes": round(int(status["VmRSS"].split()[0]) / 1024, 1), "files": files, "threads": int(status["Threads"])}


def census(model: PooledModel) -> dict[str, Any]:
    return {"app": held(os.getpid())} | {f"worker {peer.rank}": held(peer.pid) for peer in model.crew.peers}


def ask_once(model: PooledModel, index: int, kill: bool) -> str:
    """One request; how it ended."""
    lanes = {"confidence": SETTINGS.decoder("confidence"), "lopa": replace(SETTINGS, temperature=0.7, seed=index)}
    question = list(EXAMPLES.values())[index % len(EXAMPLES)].question
    rounds = model.race(model.encode(question), lanes, warm=False).run()
    try:
        for number, _ in enumerate(rounds):
            if kill and number == 2:
                os.kill(model.crew.peers[1].pid, signal.SIGKILL)
            elif index % 5 == 4 and number == index % 4:
                rounds.close()
                return "left"
    except PoolFault:
        return "broken off"
    return "finished"


def requests(count: int) -> dict[str, Any]:
    """A worker is killed half-way, so there are two spans without a fault, each looked at when it has warmed up and at its end."""
    model = open_pool(read_source().fetch(), ranks=2, device="cpu", threads=1, patience=Patience(silence=10, rest=0.2))
    model.wait()
    half, warm = count // 2, min(25, count // 4)
    ended, seconds, looks, pids = [], [], {}, set()
    for index in range(count):
        model.wait()
        pids |= {peer.pid for peer in model.crew.peers}
        began = time.perf_counter()
        ended.append(ask_once(model, index, kill=index == half))
        seconds.append(time.perf_counter() - began)
        if index in (warm, half - 1, half + warm, count - 1):
            looks[f"after request {index + 1}"] = census(model)
    time.sleep(2 * model.crew.patience.beat)  # until they have said so
    idle = all(worker["answers"] and worker["running"] is None for worker in model.health()["workers"])
    model.close()
    return {
        "ended": {how: ended.count(how) for how in dict.fromkeys(ended)},
        "seconds": {"all": round(sum(seconds), 1), "median": round(statistics.median(seconds), 3), "longest": round(max(seconds), 3)},
        "held": looks,
        "workers idle at the end": idle,
        "workers left after close": 0 if all_gone(pids, within=5) else "some",
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.runtime.bench_pool", description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=200, metavar="N")
    parser.add_argument("--rounds", type=int, default=60, metavar="N", help="rounds that are timed on two ranks and in one process")
    args = parser.parse_args()
    machine = {"cores": os.cpu_count(), "load": os.getloadavg()[0], "torch": torch.__version__, "python": platform.python_version()}
    json.dump({"machine": machine, "round": cost_of_rounds(args.rounds), "requests": requests(args.requests)}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
