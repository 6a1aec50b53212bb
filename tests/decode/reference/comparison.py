"""Both loops on one prompt, and everything that a round says held against each other."""

import pytest

from lopa_core.runtime.local import LocalEngine

from ...helpers.decoding import run
from .loop import decode_slowly


def compare(network, prompt, settings):
    """Runs the fast loop and the slow one; returns (the answer, the slow loop's rounds)."""
    rounds, outcome = run(prompt, LocalEngine(network), settings)
    answer, slow, reason = decode_slowly(network, prompt, settings)
    for fast, expected in zip(rounds, slow):
        tried = [() if branch.tried is None else (branch.tried, *branch.more) for branch in fast.branches]
        assert [[(each.slot - len(prompt), each.token) for each in tokens] for tokens in tried] == expected["tried"]
        assert [branch.masks_left for branch in fast.branches] == expected["masks_left"]
        assert [branch.score for branch in fast.branches] == pytest.approx(expected["scores"], abs=1e-4)
        assert fast.winner == expected["winner"]
        assert (fast.slots[fast.filled] - len(prompt)).tolist() == expected["filled"]
        assert sorted((fast.taken - len(prompt)).tolist()) == expected["taken"]
        assert fast.copies == expected["copies"]
    assert (list(outcome.tokens), outcome.reason, len(rounds)) == (answer, reason, len(slow))
    return answer, slow
