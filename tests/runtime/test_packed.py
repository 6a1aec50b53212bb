"""Branches packed into one row say what the same branches say as rows of a batch."""

from dataclasses import replace

import numpy as np
import pytest

from lopa_core.decode.settings import DecodeSettings
from lopa_core.runtime.local import LocalEngine
from lopa_core.runtime.packed import pack, packs, room

from ..helpers.decoding import SerialEngine, run
from ..helpers.models import conformance_network

PROMPT = [165, 485, 77, 202, 333, 24, 37]
SETTINGS = DecodeSettings(
    max_new_tokens=48, block_size=8, attention="block_causal", tau_add=0.1, tau_act=0.6, tau_conf=0.6, lookahead=6
)  # fmt: skip


class Watched(LocalEngine):
    """Keeps its windows. batched: as if it had been told not to pack."""

    def __init__(self, network, batched=False):
        super().__init__(network)
        self.batched, self.windows = batched, []

    def open(self, rows, length, settings):
        super().open(rows, length, settings)
        if self.batched:
            self.packs, self.rows = False, rows
            self.space.make_room(self.network, rows, length, False)

    def forward(self, window):
        self.windows.append(window)
        return super().forward(window)


@pytest.mark.parametrize(
    "changes",
    [{}, {"temperature": 0.7}, {"credit_alpha": 0.7}, {"duplicate_anchor": True}, {"branching": "draft"}, {"reach": "block"}],
    ids=str,
)
@pytest.mark.parametrize("model", ["dream-a", "llada-a"])
def test_packed_branches_say_what_rows_of_a_batch_say(model, changes):
    settings, network = replace(SETTINGS, **changes), conformance_network(model)
    packed, batched = Watched(network), Watched(network, batched=True)
    (fast, outcome), (slow, expected) = (run(PROMPT, engine, settings) for engine in (packed, batched))
    assert packed.packs and not batched.packs
    assert outcome == expected and len(fast) == len(slow)
    for one, other in zip(fast, slow):
        assert [branch.score for branch in one.branches] == pytest.approx([branch.score for branch in other.branches], abs=1e-9)
        for mine, theirs in zip(one.branches, other.branches):
            np.testing.assert_array_equal(mine.seen.tokens, theirs.seen.tokens)
            np.testing.assert_allclose(mine.seen.probabilities, theirs.seen.probabilities, atol=1e-6)
    alone = SerialEngine(network)
    assert run(PROMPT, alone, settings)[1] == outcome


def test_what_branches_share_is_computed_once():
    engine = Watched(conformance_network("dream-a"))
    run(PROMPT, engine, SETTINGS)
    saved = 0
    for window in engine.windows:
        one = pack(window)
        width, most = one.window.tokens.shape[1], window.tokens.size
        assert width <= most and window.start + width <= room(SETTINGS.lookahead + 1, len(PROMPT) + SETTINGS.slots, SETTINGS)
        np.testing.assert_array_equal(one.window.columns.flat[one.window.queries][one.back].shape, window.queries.shape)
        assert len(one.window.queries) <= len(window.queries)
        saved += most - width
    assert saved > sum(window.tokens.size for window in engine.windows) / 4


def test_a_window_worked_by_hand():
    """Prompt of 2 and three blocks of 2; the first row tries a token in the second block, the last row is the anchor."""
    engine = Watched(conformance_network("dream-a"))
    run(PROMPT[:2], engine, replace(SETTINGS, max_new_tokens=6, block_size=2, lookahead=1, tau_add=0.0, tau_act=0.0, tau_conf=1.0))
    window = replace(
        next(each for each in engine.windows if len(each.tokens) == 2), tokens=np.array([[5, 6, 7, 9, 7, 7], [5, 6, 7, 7, 7, 7]]), start=2,
        ends=np.array([8, 6]), columns=np.array([[2, 3], [2, 3]]), queries=np.array([0, 1, 2, 3]),
    )  # fmt: skip
    one = pack(window)
    assert one.window.tokens.tolist() == [[5, 6, 7, 7, 7, 9]]  # nobody asks about its third block
    assert one.slots.tolist() == [[2, 3, 4, 5, 4, 5]]
    assert one.window.columns.flat[one.window.queries][one.back].tolist() == [4, 5, 2, 3]
    seen = ["".join("1" if each else "." for each in row) for row in one.mask[0, 0, :, 2:]]
    assert seen == ["11....", "11....", "1111..", "1111..", "11..11", "11..11"]
    assert one.mask[0, 0, :, :2].all()


@pytest.mark.parametrize(
    "changes", [{"attention": "full"}, {"tau_add": 1.0}, {"selection": "leap"}, {"selection": "klass"}], ids=str
)  # fmt: skip
def test_rows_stay_rows_where_nothing_is_shared_or_a_rule_counts_on_them(changes):
    assert packs(SETTINGS) and not packs(replace(SETTINGS, **changes))
