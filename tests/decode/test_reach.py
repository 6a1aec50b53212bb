"""Branches that are asked about one block: what they borrow, what that saves, and what it does not go with.

That the whole loop decides rightly with it is in test_against_reference.py.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

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
    return look(branches, settings, Past(14, settings), None, shifted=False, round_index=1)


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
    for reach in ("window", "block", "masks"):
        engine = Counted(conformance_network("dream-a"))
        rounds, outcome = run([165, 485, 77], engine, replace(chosen, reach=reach))
        told[reach] = outcome, engine.read / len(rounds)
    if length == 8:
        assert told["block"] == told["window"]
    else:
        assert told["masks"][1] < 0.8 * told["block"][1] < 0.8 * 0.8 * told["window"][1]


class Kept(LocalEngine):
    """Keeps what it was asked and what it said."""

    def open(self, *args):
        super().open(*args)
        self.heard = []

    def forward(self, window):
        self.heard.append((window, super().forward(window)))
        return self.heard[-1][1]


def alone(network, known, window, row):
    """{asked column: probabilities} of one branch, worked out apart: the anchor's forward fills a cache, behind which the
    branch's few columns are run, blind to those of the anchor that they replace."""
    anchor, mine = ([*known, *window.tokens[each].tolist()] for each in (-1, row))
    end, width = len(anchor), window.columns.shape[1]
    block = [(slot - window.prompt) // window.block_size if slot >= window.prompt else -1 for slot in range(end)]
    cache = network.new_cache(1, 2 * end)
    mask = torch.tensor([[block[key] <= block[query] for key in range(end)] for query in range(end)])
    rows = network(torch.tensor([anchor]), mask=mask[None, None], cache=cache)[0]
    asked = [window.start + int(window.columns.flat[each]) for each in window.queries if each // width == row]
    own = [slot for slot in range(end) if mine[slot] != anchor[slot]]
    own = sorted({*own, *(slot for slot in asked if slot >= window.prompt and own and block[slot] == block[own[0]])})
    if own and row < len(window.tokens) - 1:
        seen = [[block[key] <= block[query] and key not in own for key in range(end)] + [True] * len(own) for query in own]
        tokens, places = torch.tensor([[mine[slot] for slot in own]]), torch.tensor([own])
        rows = rows.index_put((places[0],), network(tokens, start=end, mask=torch.tensor([[seen]]), cache=cache, positions=places)[0])
    logits = network.head(rows[asked])
    logits[:, network.config.mask_id] = float("-inf")
    return logits.softmax(-1).max(-1).values


@pytest.mark.parametrize("model", ["dream-a", "llada-a"])
def test_with_reach_masks_a_branch_computes_few_columns_and_reads_the_anchors_others(model):
    network, prompt = conformance_network(model), [165, 485, 77, 202]
    engine = Kept(network)
    chosen = replace(BLOCKS, max_new_tokens=40, block_size=8, tau_conf=0.9, lookahead=4, reach="masks", stop_at_eos=False)
    _, outcome = run(prompt, engine, chosen)
    final, compared = [*prompt, *outcome.tokens], 0
    for window, told in engine.heard:
        assert window.thin
        with torch.inference_mode():
            wanted = [alone(network, final[: window.start], window, row) for row in range(len(window.tokens))]
        np.testing.assert_allclose(told.probabilities, torch.cat(wanted).numpy(), atol=1e-5)
        compared += len(window.tokens) - 1
    assert compared > 20


@pytest.mark.parametrize("change", [{"branching": "draft"}, {"branching": "pivot"}, {"selection": "leap"}, {"selection": "klass"}], ids=str)
def test_rules_that_need_whole_branches_refuse_it(change):
    with pytest.raises(SettingsError, match="reach window"):
        replace(BLOCKS, **change)


def test_reach_masks_under_full_attention_is_refused():
    with pytest.raises(SettingsError, match="take block"):
        replace(BLOCKS, attention="full", reach="masks")
