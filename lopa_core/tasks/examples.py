"""Example prompts with known answers: word problems the embedded model was not trained on."""

from __future__ import annotations

from .word_problems import Problem, problem

# indices into the held-out split: short, from different families
_CHOSEN = {"Zoo tickets": 3, "Baking": 12, "On the bus": 43, "Marbles": 14, "Shells": 19}

EXAMPLES: dict[str, Problem] = {title: problem(0, index, "test") for title, index in _CHOSEN.items()}


def known(prompt: str) -> Problem | None:
    """The example with exactly this question, if it is one."""
    return next((each for each in EXAMPLES.values() if each.question == prompt.strip()), None)
