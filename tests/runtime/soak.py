"""Whether a process that answers ever different prompts stays as large as it is: python -m tests.runtime.soak [--requests 200] prints JSON.

A pass over a prompt of another length multiplies another number of rows, and each decoder has row counts of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import torch

from lopa_core.decode.decoders import DECODERS
from lopa_core.decode.settings import DecodeSettings
from lopa_core.runtime.session import open_model
from lopa_core.tasks.registry import mixed

WARM = 26  # requests until everything that is loaded once has been
LONGEST = 6  # questions in a prompt


def prompts(count: int) -> list[str]:
    """Different prompts of many lengths, from one question to LONGEST of them."""
    questions = [problem.question for problem in mixed(count + LONGEST, seed=13)]
    return [" ".join(questions[index : index + 1 + index % LONGEST]) for index in range(count)]


def resident() -> float:
    """Megabytes of this process that are in memory."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmRSS"].split()[0]) * 1024 / 1e6


def soak(requests: int) -> dict[int, float]:
    """Megabytes after requests WARM, twice WARM ... and the last one, each answered by another decoder in turn."""
    torch.set_num_threads(1)
    model = open_model(device="cpu")
    settings = replace(DecodeSettings(**model.source.settings), max_new_tokens=16)
    names, sizes = list(DECODERS), {}
    for index, prompt in enumerate(prompts(requests)):
        name = names[index % len(names)]
        for _ in model.race(model.encode(prompt), {name: settings.decoder(name)}, warm=False).run():
            pass
        if (index + 1) % WARM == 0 or index + 1 == requests:
            sizes[index + 1] = round(resident(), 1)
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.runtime.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=200, metavar="N")
    args = parser.parse_args()
    json.dump({"load": os.getloadavg()[0], "torch": torch.__version__, "megabytes": soak(args.requests)}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
