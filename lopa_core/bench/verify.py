"""Check the decoders against a file of cases: what other code decoded, token for token and round for round."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import (
    Any,
    NotRequired,  # pydantic cannot read typing's own before Python 3.12
)

import torch
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from ..decode.loop import decode
from ..decode.round import Round
from ..decode.settings import DecodeSettings, SettingsError
from ..model.checkpoint import load
from ..model.errors import ModelError
from ..runtime.local import LocalEngine

SCORE_TOLERANCE = 1e-5


class CaseBranch(TypedDict):
    anchor: bool
    score: float
    masks_left: int


class Case(TypedDict):
    """One case; the conformance README tells what the fields mean."""

    model: str
    lora: NotRequired[bool]
    settings: dict[str, Any]
    prompt: list[int]
    ids: list[int]
    rounds: int
    branch_forwards: int
    branches: NotRequired[list[list[CaseBranch]]]


_CASES = TypeAdapter(list[Case])


def read_cases(path: str | Path) -> list[Case]:
    """The cases of a file {"cases": [...]}; raises ModelError if it is not one."""
    try:
        return _CASES.validate_python(json.loads(Path(path).read_bytes())["cases"])
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ModelError(f"{path} is damaged at cases.{'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
    except (ValueError, KeyError, TypeError):
        raise ModelError(f'{path} is not a file of cases: a JSON object with "cases" in UTF-8.') from None


def case_settings(case: Case) -> DecodeSettings:
    """The case's settings with the official code's choices. Raises SettingsError for one that is not known."""
    chosen = {"lookahead": 0, "round_down": True} | case["settings"]
    decoder = chosen.pop("decoder", "lopa")
    unknown = chosen.keys() - {field.name for field in fields(DecodeSettings)}
    if unknown:
        raise SettingsError(f"A case names the setting {min(unknown)}, which this program does not have.")
    return DecodeSettings(**chosen).decoder(decoder).reference()


def verify(cases: list[Case], models: str | Path, *, dtype: torch.dtype = torch.float64) -> Iterator[str | None]:
    """Run each case on `models`/<model>; yields None where it agrees, else the first difference in a sentence.

    In fp64 only the other code's own rounding is left in a score's difference (at most 4e-6 over all cases); in fp32
    ours adds up to 1.3e-5, by attention kernel and machine. Token ids are the same in both.
    """

    @lru_cache(maxsize=8)
    def engine(model: str, lora: bool) -> LocalEngine:
        folder = Path(models) / model
        return LocalEngine(load(folder, adapter=f"{folder}-lora" if lora else None, dtype=dtype))

    for case in cases:
        yield compare(case, *run(engine(case["model"], bool(case.get("lora"))), case))


def run(engine: LocalEngine, case: Case) -> tuple[list[Round], tuple[int, ...]]:
    """All rounds of a case, and the slots it generated."""
    rounds = []
    decoding = decode(case["prompt"], engine, case_settings(case))
    while True:
        try:
            rounds.append(next(decoding))
        except StopIteration as stop:
            return rounds, stop.value.tokens


def compare(case: Case, rounds: list[Round], ids: tuple[int, ...]) -> str | None:
    """The first difference between a case and what was decoded, or None."""
    for slot, (got, wanted) in enumerate(zip(ids, case["ids"])):
        if got != wanted:
            return f"slot {slot} holds token {got} instead of {wanted}"
    facts = {
        "slots": (len(ids), len(case["ids"])),
        "rounds": (len(rounds), case["rounds"]),
        "branch_forwards": (sum(len(each.branches) for each in rounds), case["branch_forwards"]),
    }
    for name, (got, wanted) in facts.items():
        if got != wanted:
            return f"{name} is {got} instead of {wanted}"
    for index, (round_, wanted) in enumerate(zip(rounds, case.get("branches", ()))):
        if difference := compare_branches(round_, wanted):
            return f"round {index}: {difference}"
    return None


def compare_branches(round_: Round, wanted: list[CaseBranch]) -> str | None:
    if len(round_.branches) != len(wanted):
        return f"{len(round_.branches)} branches instead of {len(wanted)}"
    for position, (got, expected) in enumerate(zip(round_.branches, wanted)):
        if (got.tried is None) != expected["anchor"]:
            return f"branch {position} has the wrong kind"
        if got.masks_left != expected["masks_left"]:
            return f"branch {position} has {got.masks_left} masks left instead of {expected['masks_left']}"
        if abs(got.score - expected["score"]) > SCORE_TOLERANCE:
            return f"branch {position} scores {got.score:.6f} instead of {expected['score']:.6f}"
    return None
