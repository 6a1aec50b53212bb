"""Example prompts with known answers: problems the embedded model was not trained on."""

from __future__ import annotations

from .problem import Problem
from .registry import mixed

# indices into the mixed task's held-out split: short, from different families
_CHOSEN = {"Zoo tickets": 3, "Baking": 12, "On the bus": 43, "Shells": 58, "Word list": 88, "Two in one": 92}

EXAMPLES: dict[str, Problem] = {title: next(mixed(1, split="test", start=index)) for title, index in _CHOSEN.items()}


def known(prompt: str) -> Problem | None:
    """The example with exactly this question, if it is one."""
    return next((each for each in EXAMPLES.values() if each.question == prompt.strip()), None)
