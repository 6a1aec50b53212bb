"""KLASS's divergence through the whole loop: from the distribution of the winner of the round before, whichever row that was."""

import pytest
import torch

from lopa_core.decode.settings import DecodeSettings
from lopa_core.runtime.local import LocalEngine
from lopa_core.runtime.remembered import UNSEEN

from ..helpers.decoding import run
from ..helpers.models import dream_config, llada_config, random_network

CHOSEN = DecodeSettings(max_new_tokens=16, block_size=16, selection="klass", klass_tau=0.1, klass_kl=0.2, lookahead=3, stop_at_eos=False)


class Exact(LocalEngine):
    """Computes every distribution anew from all tokens; exact in a network of one layer."""

    def forward(self, window):
        seen = super().forward(window)
        rows, columns = window.queries // window.columns.shape[1], window.columns.flat[window.queries]
        logits = self.network.head(self.network(torch.tensor([[*self.prompt[: window.start], *row] for row in window.tokens.tolist()])))
        logits[..., self.config.mask_id] = float("-inf")
        shares = logits.softmax(-1)
        self.latest = [{} for _ in window.tokens]
        for row, column, told in zip(rows.tolist(), columns.tolist(), seen.divergences.tolist()):
            slot, own = window.start + column + self.config.shifted, shares[row, window.start + column]
            self.latest[row][slot] = own
            if slot in self.before:
                kept = own > 0
                wanted = float((own[kept] * (own[kept] / self.before[slot][kept]).log()).sum())
                assert told == pytest.approx(wanted, abs=1e-5)
                self.checked += 1
            else:
                assert told == UNSEEN
        return seen

    def keep(self, row):
        super().keep(row)
        self.before, self.winners = self.latest[row], self.winners | {row}


@pytest.mark.parametrize("raw", [dream_config(num_hidden_layers=1), llada_config(n_layers=1)], ids=["shifted", "unshifted"])
def test_divergence_is_from_the_winner_of_the_round_before(raw):
    engine = Exact(random_network(raw))
    engine.prompt, engine.before, engine.checked, engine.winners = [5, 8, 21], {}, 0, set()
    with torch.inference_mode():
        run(engine.prompt, engine, CHOSEN)
    assert engine.checked > 20 and len(engine.winners) > 1
