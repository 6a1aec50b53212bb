"""Processes in one gloo group that run what a test asks: cheaper than a pool per combination of ranks and settings.

Started as `python -m tests.helpers.ranks`. Tests and ranks trust each other, so jobs and answers are pickles here.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from lopa_core.runtime.pool import environment

ROOT = Path(__file__).parents[2]
TIMEOUT = 60.0  # seconds of one collective, in which a peer may have to load a network
PATIENCE = 200  # seconds; a busy machine is no fault


class Ranks:
    """count: processes. Any job runs on the first few of them, in a group of just these."""

    def __init__(self, count: int) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="lopa-ranks-")
        self.processes, self.links = [], []
        for rank in range(count):
            mine, its = socket.socketpair()
            told = [str(its.fileno()), str(rank), str(count), f"{self.folder.name}/store"]
            with its:
                command = [sys.executable, "-m", "tests.helpers.ranks", *told]
                self.processes.append(subprocess.Popen(command, pass_fds=[its.fileno()], env=environment(), cwd=ROOT))
            self.links.append(Connection(mine.detach()))

    def run(self, ranks: int, job: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What job(group, *arguments) gives on each of `ranks` ranks. job: a function of a module's top level."""
        for link in self.links[:ranks]:
            link.send((ranks, job, arguments))
        answers = []
        for rank, link in enumerate(self.links[:ranks]):
            assert link.poll(PATIENCE), f"rank {rank} does not answer"
            answers.append(link.recv())
        for fine, answer in answers:
            assert fine, answer
        return [answer for _, answer in answers]

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        for process, link in zip(self.processes, self.links):
            process.wait()
            link.close()
        self.folder.cleanup()


def main(handle: str, rank: str, count: str, store: str) -> None:
    torch.set_num_threads(1)
    link = Connection(int(handle))
    dist.init_process_group(
        "gloo", init_method=Path(store).as_uri(), rank=int(rank), world_size=int(count), timeout=timedelta(seconds=TIMEOUT)
    )
    groups = {ranks: dist.new_group(list(range(ranks))) for ranks in range(1, int(count) + 1)}
    while True:
        try:
            ranks, job, arguments = link.recv()
        except EOFError:  # the tests are over
            return
        try:
            answer = True, job(groups[ranks], *arguments)
        except Exception:
            answer = False, traceback.format_exc()
        link.send(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
