"""Branches that are asked about one block: what they borrow, what that saves, and what it does not go with.

That the whole loop decides rightly with it is in test_against_reference.py.
"""

from dataclasses import replace

import numpy as np
import pytest

from lopa_core.decode.branch import Branch, Tried
from lopa_core.decode.canvas import Canvas
from lopa_core.decode.past import Past
from lopa_core.decode.settings import DecodeSettings, SettingsError
from lopa_core.decode.window import look
from lopa_core.runtime.local import LocalEngine

from ..helpers.decoding import MASK, run
from ..helpers.models import conformance_network
from ..helpers.rules import said

BLOCKS = DecodeSettings(max_new_tokens=12, block_size=4, attention="block_causal", tau_add=0.1, lookahead=2, reach="block")


def round_of(settings):
    """Prompt of 2, two blocks open in the anchor; one branch has tried slot 3, the other slot 7 and opened the third block."""
    anchor = Canvas.start(np.array([1, 2]), settings, MASK)
    anchor.opened, anchor.committed = 2, 2
    anchor.write(np.array([2, 5, 6]), np.array([10, 11, 12]))
    first, second = anchor.copy(), anchor.copy()
    first.decide(3, 13)
    second.decide(7, 14)
    second.opened = 3
    branches = [Branch(first, Tried(3, 13, 0.8, -0.2)), Branch(second, Tried(7, 14, 0.7, -0.4)), Branch(anchor)]
    return look(branches, settings, Past(14, settings), shifted=False, round_index=1)


def test_a_branch_is_asked_about_its_block_and_takes_the_rest_from_the_anchor():
    sight = round_of(BLOCKS)
    assert [slots.tolist() for slots in sight.slots] == [[4, 7, 8, 9], [3, 4, 8, 9], [3, 4, 7, 8, 9]]
    asked = np.split(sight.window.columns.flat[sight.window.queries] + sight.window.start, [1, 3])
    assert [slots.tolist() for slots in asked] == [[4], [8, 9], [3, 4, 7, 8, 9]]
    answers = said(np.arange(8) / 10)  # 0 of the first branch, 1 and 2 of the second, 3.. of the anchor
    told = [each.probabilities.tolist() for each in sight.split(answers, None)]
    assert told == [pytest.approx(each) for each in ([0.0, 0.5, 0.6, 0.7], [0.3, 0.4, 0.1, 0.2], [0.3, 0.4, 0.5, 0.6, 0.7])]


def test_with_the_whole_window_nothing_is_borrowed():
    sight = round_of(replace(BLOCKS, reach="window"))
    assert [len(slots) for slots in sight.slots] == [4, 8, 5] and len(sight.window.queries) == 17


@pytest.mark.parametrize("length", [8, 48])
def test_it_costs_fewer_columns_and_where_there_is_one_block_it_changes_nothing(length):
    class Counted(LocalEngine):
        read = 0

        def logits(self, window, queries, packed):
            self.read += window.tokens.size
            return super().logits(window, queries, packed)

    chosen = replace(BLOCKS, max_new_tokens=length, block_size=8, tau_conf=0.6, lookahead=4)
    told = {}
    for reach in ("window", "block"):
        engine = Counted(conformance_network("dream-a"))
        rounds, outcome = run([165, 485, 77], engine, replace(chosen, reach=reach))
        told[reach] = outcome, engine.read / len(rounds)
    if length == 8:
        assert told["block"] == told["window"]
    else:
        assert told["block"][1] < 0.8 * told["window"][1]


@pytest.mark.parametrize("change", [{"branching": "draft"}, {"branching": "pivot"}, {"selection": "leap"}, {"selection": "klass"}], ids=str)
def test_rules_that_need_whole_branches_refuse_it(change):
    with pytest.raises(SettingsError, match="reach window"):
        replace(BLOCKS, **change)
