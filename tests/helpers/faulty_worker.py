"""A worker as it is, but one that fails on demand: python -m tests.helpers.faulty_worker --faults FOLDER ...

A word in FOLDER/<rank> is taken out and done by that rank at its next forward. FOLDER/slow holds the seconds that
every forward takes longer, FOLDER/late-<rank> those after which the rank begins to load; FOLDER/other-<rank> names a
parameter that it has other than its peers. FOLDER/starts is told each rank that starts. While FOLDER/gate is there,
rank 0, and with it every run, waits before its forward once it has done as many as the file says.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from lopa_core.runtime import rank as ranks
from lopa_core.runtime import worker
from lopa_core.runtime.local import LocalEngine


def main(argv: list[str]) -> None:
    at = argv.index("--faults")
    folder, told = Path(argv[at + 1]), argv[:at] + argv[at + 2 :]
    rank, records, gate = told[told.index("--rank") + 1], LocalEngine.records, Gate(folder / "gate")

    def faulty(engine: LocalEngine, window):
        slow, word = folder / "slow", folder / rank
        if rank == "0":
            gate.wait()
        if slow.exists():
            time.sleep(float(slow.read_text()))
        if word.exists():
            word.rename(folder / f"{rank}-done")
            fail((folder / f"{rank}-done").read_text())
        return records(engine, window)

    LocalEngine.records = faulty
    with (folder / "starts").open("a") as starts:
        starts.write(f"{rank}\n")
    if (folder / f"other-{rank}").exists():
        differ((folder / f"other-{rank}").read_text())
    late = folder / f"late-{rank}"
    time.sleep(float(late.read_text()) if late.exists() else 0)
    worker.main(told)


def differ(word: str) -> None:
    """From now on load a parameter of this name with another value."""
    load = ranks.load

    def other(args, device):
        model = load(args, device)
        model.network.get_parameter(word).data[0] += 1
        return model

    ranks.load = other


class Gate:
    """Lets as many forwards through as its file says and holds the next one until the file is gone."""

    def __init__(self, file: Path) -> None:
        self.file, self.through = file, 0

    def wait(self) -> None:
        while self.shut():
            time.sleep(0.002)
        self.through += 1

    def shut(self) -> bool:
        try:
            return self.through >= int(self.file.read_text())
        except FileNotFoundError:
            self.through = -1  # the one that waits now is let through, and the next ones are counted anew
            return False


def fail(word: str) -> None:
    match word:
        case "memory":
            raise RuntimeError("CUDA out of memory. Tried to allocate 7.00 GiB.\nMore lines")
        case "error":
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        case "hang":
            time.sleep(60)
        case "slow":
            time.sleep(8)


if __name__ == "__main__":
    main(sys.argv[1:])
