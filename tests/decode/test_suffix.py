"""What is seen of unopened blocks: their masks, as a forward over the whole canvas sees them, computed or cached."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from lopa_core.decode.settings import DecodeSettings, SettingsError
from lopa_core.runtime.local import LocalEngine

from ..helpers.decoding import run
from ..helpers.models import conformance_network, dream_config, llada_config, random_network

BASE = DecodeSettings(max_new_tokens=32, block_size=8, tau_conf=0.6, lookahead=2, stop_at_eos=False)
RAW = [dream_config(num_hidden_layers=1), llada_config(n_layers=1)]


class Whole(LocalEngine):
    """Compares every answer with a forward over the whole canvas. Exact in one layer, where keys depend on tokens alone."""

    checked = 0

    def forward(self, window):
        seen = super().forward(window)
        prefix = self.prefix[: window.start]
        for query, probability in zip(window.queries.tolist(), seen.probabilities.tolist()):
            row, column = query // window.columns.shape[1], int(window.columns.flat[query])
            tokens = [*prefix, *window.tokens[row].tolist()]
            tokens += [self.config.mask_id] * (self.total - len(tokens))
            logits = self.network.head(self.network(torch.tensor([tokens])))[0, window.start + column]
            logits[self.config.mask_id] = float("-inf")
            assert probability == pytest.approx(float(logits.softmax(-1).max()), abs=1e-6)
            self.checked += 1
        self.rows_seen = [[*prefix, *tokens] for tokens in window.tokens.tolist()]
        self.widths = [*getattr(self, "widths", []), window.tokens.shape[1]]
        return seen

    def open(self, rows, length, settings):
        super().open(rows, length, settings)
        self.prefix, self.total = [], length

    def commit(self, row, start, end):
        super().commit(row, start, end)
        self.prefix = self.rows_seen[row][:end]


@pytest.mark.parametrize("raw", RAW, ids=["shifted", "unshifted"])
@pytest.mark.parametrize("suffix", ["masks", "cached"])
@pytest.mark.parametrize("tau_add", [1.0, 0.3])
def test_a_slot_sees_the_whole_canvas(raw, suffix, tau_add):
    engine = Whole(random_network(raw))
    with torch.inference_mode():
        run([5, 8, 21], engine, replace(BASE, suffix=suffix, tau_add=tau_add))
    assert engine.checked > 50


def test_a_cached_suffix_is_read_once_per_block_only():
    engine = Whole(random_network(RAW[1]))
    with torch.inference_mode():
        rounds, _ = run([5, 8, 21], engine, replace(BASE, suffix="cached", lookahead=0))
    refreshed = [new.committed > old.committed for old, new in zip(rounds, rounds[1:])] + [False]
    total = 3 + BASE.slots
    for each, width, grows in zip(rounds, engine.widths, refreshed):
        assert width == (total - each.start if grows else each.end - each.start)
    assert sum(refreshed) == 4


@pytest.mark.parametrize("model", ["dream-a", "llada-a"])
@pytest.mark.parametrize("suffix", ["masks", "cached"])
def test_one_block_has_no_suffix(model, suffix):
    single = replace(BASE, block_size=32)
    network = conformance_network(model)
    assert run([9, 4], LocalEngine(network), replace(single, suffix=suffix))[1] == run([9, 4], LocalEngine(network), single)[1]


def test_with_several_layers_the_cache_is_an_approximation_and_still_decodes():
    network = conformance_network("llada-a")
    told = {suffix: run([9, 4], LocalEngine(network), replace(BASE, suffix=suffix)) for suffix in ("none", "masks", "cached")}
    assert all(outcome.reason == "complete" for _, outcome in told.values())
    first = [rounds[0].seen.probabilities for rounds, _ in told.values()]
    assert np.array_equal(first[1], first[2]) and not np.allclose(first[0], first[1])


@pytest.mark.parametrize("changes", [{"attention": "block_causal"}, {"selection": "leap", "suffix": "cached"}], ids=str)
def test_a_suffix_that_could_not_be_seen_is_refused(changes):
    with pytest.raises(SettingsError, match="suffix"):
        DecodeSettings(**{"suffix": "masks"} | changes)
