"""How problems are worded: interchangeable phrasings, one of them the usual one, and a linking word in front of some steps.

Which of several right words comes is not for a decoder to be sure of: plain confidence decoding spends a pass on each
such place, and that is where a lookahead helps without costing accuracy.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from .stories import NAMES

USUAL = 0.7  # share of the first phrasing of a solution's sentence, and of the first linking word
LINK_SHARE = 0.35  # of the solution's steps have a linking word
OPENERS = ("First, ", "To start, ")
LINKS = ("Then ", "Next, ", "After that, ")
CLOSERS = ("So ", "Finally, ", "In the end, ")

Phrasings = tuple[str, ...]
_PEOPLE = {split: [(name, gender) for gender, names in by_gender.items() for name in names.split()] for split, by_gender in NAMES.items()}


def people(rng: random.Random, split: str) -> list[tuple[str, str]]:
    """Two different people of a split: (name, gender)."""
    return rng.sample(_PEOPLE[split], 2)


def phrase(rng: random.Random, phrasings: Phrasings, slots: Mapping[str, object], usual: float | None = None) -> str:
    """One of the phrasings filled in: each as often as the others, or the first with the share `usual`."""
    return pick(rng, phrasings, usual).format_map(slots)


def pick(rng: random.Random, choices: Phrasings, usual: float | None) -> str:
    if len(choices) == 1 or (usual is not None and rng.random() < usual):
        return choices[0]
    return choices[int(rng.random() * len(choices))] if usual is None else choices[1 + int(rng.random() * (len(choices) - 1))]


def explain(rng: random.Random, steps: Sequence[tuple[Phrasings, Mapping[str, object]]], *, opener: bool = True) -> str:
    """The steps as sentences, some with a word like "Then" in front; the first one only with `opener`."""
    told = []
    for number, (phrasings, slots) in enumerate(steps):
        chosen = pick(rng, phrasings, USUAL)
        sentence = chosen.format_map(slots)
        if rng.random() < LINK_SHARE and (number or opener):
            choices = OPENERS if number == 0 else CLOSERS if number == len(steps) - 1 else LINKS
            starts_with_name = chosen.startswith(("{name}", "{friend}"))
            sentence = pick(rng, choices, USUAL) + (sentence if starts_with_name else sentence[0].lower() + sentence[1:])
        told.append(sentence)
    return " ".join(told)
