"""LEAP: the copies change nothing of the base pass, and a judge says what a forward over the written future would."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from lopa_core.decode.branch import Branch
from lopa_core.decode.canvas import Canvas
from lopa_core.decode.futures import superpose
from lopa_core.decode.past import Past
from lopa_core.decode.settings import DecodeSettings, SettingsError
from lopa_core.decode.window import Window, ask
from lopa_core.model.mask import block_causal_mask
from lopa_core.runtime.local import LocalEngine

from ..helpers.decoding import run
from ..helpers.models import conformance_network, dream_config, llada_config, random_network
from ..helpers.rules import picked, said

LEAP = DecodeSettings(
    max_new_tokens=24, block_size=8, selection="leap", leap_eta=0.02, leap_tau=0.1, tau_conf=0.9, lookahead=2, stop_at_eos=False
)
SHAPES = {
    "blocks in turn": {},
    "pipelined": {"tau_add": 0.1},
    "block causal": {"tau_add": 0.1, "attention": "block_causal"},
    "clique": {"leap_links": "clique"},
    "remembered boundary": {"refresh_boundary": False},
}


def test_leap_by_hand():
    """Agreement counts from leap_tau on; without agreement, or without a future, tau_conf does."""
    seen = said([0.7, 0.69, 0.8, 0.95, 0.8], future_tokens=[10, 11, 99, 99, -1])
    assert picked("leap", seen) == [0, 3]
    assert picked("leap", seen, leap_tau=0.6) == [0, 1, 3]


def test_sampling_is_refused():
    with pytest.raises(SettingsError, match="leap.*temperature 0"):
        DecodeSettings(selection="leap", temperature=0.5)


class PlainBeside(LocalEngine):
    """Runs every window without its copies first, and compares what the originals say."""

    compared = 0

    def forward(self, window):
        asked = window.columns.flat[window.queries] < window.tokens.shape[1]
        alone = super().forward(replace(window, copies=None, queries=window.queries[asked], columns=np.where(
            window.columns < window.tokens.shape[1], window.columns, 0)))  # fmt: skip
        seen = super().forward(window)
        assert seen.tokens[asked].tolist() == alone.tokens.tolist()
        assert seen.probabilities[asked] == pytest.approx(alone.probabilities, abs=1e-6)
        assert seen.confidences[asked] == pytest.approx(alone.confidences, abs=1e-5)
        self.compared += window.copies is not None
        return seen


@pytest.mark.parametrize("model", ["dream-a", "llada-a"])
@pytest.mark.parametrize("shape", SHAPES)
def test_originals_say_the_same_with_and_without_copies(model, shape):
    engine = PlainBeside(conformance_network(model))
    run([165, 485, 77, 202], engine, replace(LEAP, **SHAPES[shape]))
    assert engine.compared > 2


class Oracle(LocalEngine):
    """Compares every judge with a forward of its own, over the whole text without cache, in which all candidates but
    the judged one are written. In a network of one layer, where keys are known from tokens and places, they are equal."""

    checked = 0

    def open(self, rows, length, settings):
        super().open(rows, length, settings)
        self.prefix = []

    def forward(self, window):
        seen = super().forward(window)
        rows, columns = window.queries // window.columns.shape[1], window.columns.flat[window.queries]
        for row, column, probability, token in zip(rows, columns - window.tokens.shape[1], seen.probabilities, seen.tokens):
            if column >= 0:
                self.compare(window, row, column, float(probability), int(token))
        self.seen_by = [[*self.prefix[: window.start], *tokens] for tokens in window.tokens.tolist()]
        return seen

    def compare(self, window, row, column, probability, token):
        copies, slot = window.copies, int(window.copies.judged[row, column])
        written = [*self.prefix[: window.start], *window.tokens[row, : window.ends[row] - window.start].tolist()]
        for other, own in zip(copies.slots[row].tolist(), copies.tokens[row].tolist()):
            if copies.hidden[row, other] and own != self.config.mask_id and other != slot and written[other] == self.config.mask_id:
                written[other] = own
        mask = None
        if self.settings.attention == "block_causal":
            mask = block_causal_mask(0, len(written), window.prompt, window.block_size, self.device)
        logits = self.network.head(self.network(torch.tensor([written]), mask=mask))[0, slot - self.config.shifted]
        logits[self.config.mask_id] = float("-inf")
        assert token == int(logits.argmax())
        assert probability == pytest.approx(float(logits.softmax(-1).max()), abs=1e-6)
        self.checked += 1

    def commit(self, row, start, end):
        super().commit(row, start, end)
        self.prefix = self.seen_by[row][:end]


@pytest.mark.parametrize("raw", [dream_config(num_hidden_layers=1), llada_config(n_layers=1)], ids=["shifted", "unshifted"])
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "clique"])
def test_a_judge_says_what_a_forward_over_the_future_says(raw, shape):
    """Also behind a cached prefix, and inside LoPA's branches."""
    engine = Oracle(random_network(raw))
    with torch.inference_mode():
        rounds, _ = run([5, 8, 21], engine, replace(LEAP, **SHAPES[shape]))
    assert engine.checked > 20 and rounds[-1].committed >= 3


def judged(network, candidates, links):
    """{slot: probabilities' record} of the judges of one block with these candidates."""
    settings = replace(LEAP, lookahead=0, leap_links=links)
    canvas = Canvas.start(np.array([3, 4, 5]), settings, network.config.mask_id)
    canvas.advance(1.0, 1.0)
    past = Past(len(canvas.tokens), settings)
    slots = np.array(sorted(candidates))
    past.before.tell(slots, said([0.9] * len(slots))._replace(tokens=np.array([candidates[slot] for slot in slots.tolist()])))
    copies, judges = superpose([Branch(canvas)], [np.arange(3, 11)], settings, past, shifted=network.config.shifted)
    columns, queries = ask(judges.rows, judges.columns + 11, 1)
    window = Window(canvas.tokens[None, :11], 0, np.array([11]), columns, queries, None, 3, 8, copies=copies)
    engine = LocalEngine(network)
    engine.open(1, 64, settings)
    return dict(zip(judges.slots.tolist(), engine.forward(window).probabilities.tolist()))


@pytest.mark.parametrize("model", ["dream-a", "llada-a"])
def test_in_a_star_no_layer_tells_a_judge_its_own_candidate(model):
    """In a clique the other candidates do, from the second layer on."""
    network = conformance_network(model)
    first, second = {4: 100, 6: 200, 9: 300}, {4: 100, 6: 250, 9: 300}
    star = judged(network, first, "star"), judged(network, second, "star")
    assert star[0][6] == star[1][6] and star[0][4] != star[1][4] and star[0][9] != star[1][9]
    clique = judged(network, first, "clique"), judged(network, second, "clique")
    assert clique[0][6] != clique[1][6]


def test_a_lone_candidate_is_not_judged():
    """Its judge would see no future, and agree with anything."""
    settings = replace(LEAP, lookahead=0)
    canvas = Canvas.start(np.array([3, 4]), settings, 0)
    canvas.advance(1.0, 1.0)
    past = Past(len(canvas.tokens), settings)
    past.before.tell(np.array([5]), said([0.9]))
    copies, judges = superpose([Branch(canvas)], [np.arange(2, 10)], settings, past, shifted=True)
    assert copies is None and not len(judges.slots)


def test_what_was_unlikely_or_is_written_is_no_candidate():
    settings = replace(LEAP, lookahead=0, leap_eta=0.5)
    canvas = Canvas.start(np.array([3, 4]), settings, 0)
    canvas.advance(1.0, 1.0)
    past = Past(len(canvas.tokens), settings)
    past.before.tell(np.array([3, 4, 5, 6]), said([0.5, 0.49, 0.9, 0.9]))
    copies, judges = superpose([Branch(canvas)], [np.array([3, 4, 5, 7])], settings, past, shifted=False)
    assert judges.slots.tolist() == [3, 5] and copies.tokens.tolist() == [[10, 12, 0, 0]]
    assert copies.slots.tolist() == [[3, 5, 3, 5]]
