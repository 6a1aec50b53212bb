"""`models`: the catalogue, and which of its models this machine can run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import torch

from ..model.preset import Preset
from ..model.presets import CATALOGUE
from ..model.size import count_in_words, in_words, needed
from ..runtime.device import describe, memory

SLOW = 300_000_000  # parameters: a pass reads each once, which takes a CPU a tenth of a second or more in fp32


@dataclass(frozen=True, slots=True)
class Place:
    """A device and its free bytes. kind: gpu or cpu."""

    kind: str
    name: str
    free: int


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    machine = places()
    rows = [row(preset, machine) for preset in CATALOGUE.values()]
    if args.json:
        print(json.dumps({"hardware": [asdict(place) for place in machine], "models": rows}))
    else:
        show(rows, machine)
    return 0


def places() -> list[Place]:
    """This machine's devices, GPUs first."""
    devices = [torch.device("cuda", index) for index in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    found = []
    for device in (*devices, torch.device("cpu")):
        told = memory(device)
        found.append(Place("cpu" if device.type == "cpu" else "gpu", describe(device), told["total"] - told["used"]))
    return found


def row(preset: Preset, machine: list[Place]) -> dict[str, Any]:
    """A model as JSON data, with the bytes it needs and where it would run: on, dtype (both None if nowhere) and words."""
    told = asdict(preset) | {"folder": str(preset.folder) if preset.folder else None}
    sizes = {name: needed(preset.parameters, getattr(torch, name)) for name in ("bfloat16", "float32")}
    return told | {"memory": sizes, "runs": verdict(preset.parameters, sizes, machine)}


def verdict(parameters: int, sizes: dict[str, int], machine: list[Place]) -> dict[str, str | None]:
    """Where a model runs, as it is opened when no flag says otherwise: bf16 on a GPU, else fp32 on the CPU, else bf16 there."""
    for kind, dtype in (("gpu", "bfloat16"), ("cpu", "float32"), ("cpu", "bfloat16")):
        if any(place.kind == kind and sizes[dtype] <= place.free for place in machine):
            slow = ", slow" if kind == "cpu" and parameters >= SLOW else ""
            return {"on": kind, "dtype": dtype, "words": f"yes on {kind.upper()}{slow}"}
    has = max(place.free for place in machine)
    return {"on": None, "dtype": None, "words": f"no: needs {in_words(sizes['bfloat16'])}, has {in_words(has)}"}


def show(rows: list[dict[str, Any]], machine: list[Place]) -> None:
    """A Markdown table, with what could not be verified in numbered lines below."""
    marks = numbered(mark for told in rows for mark in told["unverified"])
    print("; ".join(f"{place.name}, {in_words(place.free)} free" for place in machine) + "\n")
    print("| key | model | parameters | memory bf16 / fp32 | here | licence | settings | good at | not verified |")
    print("|---|---|---|---|---|---|---|---|---|")
    for told in rows:
        size = f"{count_in_words(told['parameters'])} | {in_words(told['memory']['bfloat16'])} / {in_words(told['memory']['float32'])}"
        doubts = " ".join(str(marks[mark]) for mark in told["unverified"])
        words = f"{told['runs']['words']} | {told['licence'] or 'not seen'} | {told['source']} | {told['note']} | {doubts}"
        print(f"| {told['key']} | {told['title']} | {size} | {words} |")
    print("\nNot verified:")
    for mark, number in marks.items():
        print(f"{number}. {mark}")


def numbered(marks: Iterable[str]) -> dict[str, int]:
    """{text: number} in order of first appearance."""
    return {mark: number for number, mark in enumerate(dict.fromkeys(marks), 1)}
