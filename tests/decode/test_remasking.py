"""Re-masking: what is taken back, that it becomes a mask again everywhere, and that decoding still ends."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from lopa_core.decode.decoders import DECODERS
from lopa_core.decode.rules.registry import REMASKINGS
from lopa_core.decode.rules.saber import Course
from lopa_core.decode.settings import DecodeSettings, SettingsError
from lopa_core.runtime.local import LocalEngine
from lopa_core.trace import files
from lopa_core.trace.metrics import measure, progress
from lopa_core.trace.recorder import Recorder

from ..helpers.decoding import run
from ..helpers.models import conformance_network, dream_config, llada_config, random_network
from ..helpers.rules import one_block, picked, said
from ..helpers.traces import written

PROMPT = [165, 485, 77, 202]
BASE = DecodeSettings(max_new_tokens=32, block_size=16, lookahead=0, tau_conf=0.5)
WINO = replace(BASE, selection="wino", remask="wino", wino_tau=0.2, wino_keep=0.6)
SABER = replace(BASE, selection="saber", remask="saber", saber_least=4)
RULES = {"WINO": WINO, "WINO as published": replace(WINO, wino_refuted=0.0), "Saber": SABER}


# ---- by hand ---------------------------------------------------------------------------------------------------------


def test_wino_drafts_wide_within_its_caps():
    assert picked("wino", said([0.7, 0.5, 0.61, 0.6])) == [0, 2]
    assert len(picked("wino", said([0.9] * 10))) == 7  # 70 % of 10
    assert len(picked("wino", said([0.9] * 6))) == 5 and len(picked("wino", said([0.9] * 40))) == 20
    assert picked("wino", said([0.1, 0.2])) == [1]


def test_wino_takes_back_the_least_probable_but_fewer_than_were_written():
    doubted, slots = REMASKINGS["wino"].doubted, np.array([4, 5, 7, 8])
    seen = said([0.5] * 4, claims=[0.3, 0.95, 0.1, 0.2])
    assert doubted(slots, seen, 9, 8, BASE).tolist() == [7, 8, 4]
    assert doubted(slots, seen, 3, 2, BASE).tolist() == [7, 8]
    assert doubted(slots, seen, 1, 0, BASE).tolist() == doubted(slots, seen, 0, -1, BASE).tolist() == []
    assert doubted(slots, seen, 9, 8, replace(BASE, wino_keep=0.15)).tolist() == [7]


def test_wino_takes_a_refuted_token_back_beyond_its_bound_as_long_as_there_is_a_surplus():
    doubted, slots, chosen = REMASKINGS["wino"].doubted, np.array([4, 5, 7, 8]), replace(BASE, wino_refuted=0.25)
    seen = said([0.5] * 4, claims=[0.3, 0.95, 0.1, 0.2])
    assert doubted(slots, seen, 1, 5, chosen).tolist() == [7, 8]
    assert doubted(slots, seen, 1, 1, chosen).tolist() == [7]
    assert doubted(slots, seen, 1, 0, chosen).tolist() == doubted(slots, seen, 0, -2, chosen).tolist() == []
    assert doubted(slots, seen, 4, 9, chosen).tolist() == [7, 8, 4]
    assert doubted(slots, seen, 1, 5, replace(chosen, wino_refuted=0.0)).tolist() == []
    assert doubted(slots, seen, 1, 5, replace(chosen, wino_keep=0.15)).tolist() == [7]  # what is kept is never refuted


def test_saber_s_bar_is_the_mean_of_what_was_written():
    course = Course()
    assert course.tell(np.array([3]), said([0.5])).bars.tolist() == [1.0]
    course.wrote(np.array([3, 4]), np.array([0.75, 0.25], "f4"))
    course.wrote(np.array([5]), np.array([0.5], "f4"))
    assert course.tell(np.array([6, 7]), said([0.5, 0.5])).bars.tolist() == [0.5, 0.5]
    assert picked("saber", said([0.2, 0.6, 0.1, 0.55], bars=[0.5] * 4)) == [1, 3]
    assert picked("saber", said([0.2, 0.3, 0.1, 0.05], bars=[0.5] * 4), saber_least=2) == [0, 1]


def test_saber_takes_back_what_fell_most_since_it_was_read_last():
    course, slots = Course(), np.array([3, 4, 5])
    course.wrote(slots, np.array([0.9, 0.8, 0.7], "f4"))
    first = course.reread(slots, said([0.1] * 3, claims=np.array([0.8, 0.2, 0.9], "f4")))
    assert first.falls == pytest.approx([0.1, 0.6, -0.2])
    second = course.reread(slots, said([0.1] * 3, claims=np.array([0.1, 0.2, 0.9], "f4")))
    assert second.falls == pytest.approx([0.7, 0.0, 0.0])
    fallen = REMASKINGS["saber"].doubted
    assert fallen(slots, first, 4, 3, replace(BASE, saber_least=2)).tolist() == [4]
    assert fallen(slots, first, 4, 3, replace(BASE, saber_least=8)).tolist() == [4, 3]  # up to 4, never all: what fell
    assert fallen(slots, first, 17, 16, replace(BASE, saber_least=1)).tolist() == [4, 3]  # an eighth of 17 is 3
    assert fallen(slots, first, 1, 0, replace(BASE, saber_least=8)).tolist() == []


def test_a_canvas_forgets_what_is_taken_back():
    canvas, slots = one_block(4)
    canvas.ends = frozenset([8, 9])
    canvas.write(slots[:3], np.array([5, 9, 6]))
    assert canvas.ended and canvas.written().tolist() == [2, 3, 4]
    canvas.take_back(slots[1:2])
    assert not canvas.ended and canvas.written().tolist() == [2, 4] and canvas.filled_shares() == [0.5]


# ---- on networks -----------------------------------------------------------------------------------------------------


class Blind(LocalEngine):
    """Checks what the shadow says of a written token against a forward over the window in which its slot is a mask.

    Exact in a network of one layer over one block.
    """

    checked = 0

    def forward(self, window):
        seen = super().forward(window)
        rows, columns = window.queries // window.columns.shape[1], window.columns.flat[window.queries]
        for row, column, target, claim in zip(rows, columns - window.tokens.shape[1], window.targets, seen.claims):
            if column >= 0 and target != self.config.mask_id:
                slot, tokens = int(window.copies.judged[row, column]), [*self.prefix[: window.start], *window.tokens[row].tolist()]
                assert tokens[slot] == target
                tokens[slot] = self.config.mask_id
                logits = self.network.head(self.network(torch.tensor([tokens])))[0, slot - self.config.shifted]
                logits[self.config.mask_id] = float("-inf")
                assert claim == pytest.approx(float(logits.softmax(-1)[target]), abs=1e-6)
                self.checked += 1
        return seen


@pytest.mark.parametrize("raw", [dream_config(num_hidden_layers=1), llada_config(n_layers=1)], ids=["shifted", "unshifted"])
def test_a_shadow_says_what_a_mask_in_the_token_s_place_would(raw):
    engine = Blind(random_network(raw))
    engine.prefix = [5, 8, 21]
    with torch.inference_mode():
        run(engine.prefix, engine, replace(WINO, max_new_tokens=16, wino_keep=0.3))
    assert engine.checked > 10


@pytest.mark.parametrize("model", ["dream-a", "llada-a"])
@pytest.mark.parametrize("attention", ["full", "block_causal"])
@pytest.mark.parametrize("settings", RULES.values(), ids=RULES.keys())
def test_every_round_moves_and_only_open_slots_are_taken_back(model, attention, settings):
    network = conformance_network(model)
    rounds, outcome = run(PROMPT, LocalEngine(network), replace(settings, attention=attention, tau_add=0.5))
    standing, back = {}, 0
    for each in rounds:
        assert len(each.filled) > len(each.taken) or settings is WINO
        wrote = {int(slot): int(token) for slot, token in zip(each.slots[each.filled], each.seen.tokens[each.filled])}
        assert not wrote.keys() & standing.keys() and set(each.taken.tolist()) <= standing.keys()
        assert all(slot >= each.committed for slot in each.taken.tolist())  # never what is cached
        standing |= wrote
        for slot in each.taken.tolist():
            del standing[slot]
        back += len(each.taken)
        assert len(standing) > each.index  # a slot per round
    assert back > 0 and outcome.reason in ("complete", "eos")
    assert standing == {len(PROMPT) + slot: token for slot, token in enumerate(outcome.tokens) if token != network.config.mask_id}


@pytest.mark.parametrize("model", ["dream-a", "llada-a"])
def test_a_check_that_keeps_everything_is_threshold_decoding(model):
    network = conformance_network(model)
    plain, wanted = run(PROMPT, LocalEngine(network), BASE)
    rounds, got = run(PROMPT, LocalEngine(network), replace(BASE, remask="wino", wino_keep=0.0))
    assert got == wanted and len(rounds) == len(plain)


def test_traces_and_metrics_show_what_was_taken_back(tmp_path):
    recorder = Recorder(PROMPT, LocalEngine(conformance_network("dream-a")), WINO)
    recorder.run()
    trace = recorder.trace(model="dream-a", decoder="wino", prompt="", tokenizer=None, hardware="test")
    (read,) = files.loads(files.dumps([trace]))
    assert read == trace
    numbers = measure(trace)
    assert numbers.taken_back == sum(len(each.taken) for each in trace.rounds) > 0
    assert numbers.slots_written - numbers.taken_back == sum(token != trace.mask_id for token in trace.tokens)
    assert numbers.extra_tokens == sum(each.copies for each in trace.rounds) > 0
    assert progress(trace)[-1][0] == numbers.tokens


@pytest.mark.parametrize(
    ("change", "words"), [({"taken": [0, 0]}, "takes back slot 0"), ({"taken": [99]}, "takes back slot 99"), ({"copies": -1}, "copies")]
)
def test_a_trace_that_takes_back_what_is_not_there_is_refused(change, words):
    raw = json.loads(files.dumps([written((5, 6, 7, 8))]))
    raw["traces"][0]["rounds"][0] |= change
    with pytest.raises(files.TraceError, match=words):
        files.loads(json.dumps(raw))


@pytest.mark.parametrize("changes", [{"lookahead": 2}, {"lookahead": 0, "temperature": 0.7}], ids=str)
@pytest.mark.parametrize("remask", REMASKINGS)
def test_re_masking_branches_or_samples_is_refused(remask, changes):
    with pytest.raises(SettingsError, match="Re-masking"):
        DecodeSettings(remask=remask, **changes)


def test_distributions_of_copies_are_not_those_of_masks():
    with pytest.raises(SettingsError, match="klass"):
        DecodeSettings(selection="klass", remask="wino", lookahead=0)
    assert DecodeSettings(selection="klass", remask="saber", lookahead=0).remask == "saber"


@pytest.mark.parametrize("changes", [{"credit_alpha": 0.7}, {"selection": "leap"}, {"terminator": "prophet"}, {"suffix": "masks"}], ids=str)
def test_re_masking_joins_other_rules(changes):
    for settings in (WINO, SABER):
        rounds, outcome = run(PROMPT, LocalEngine(conformance_network("dream-a")), replace(settings, **changes))
        assert outcome.reason in ("complete", "eos")
        gained = np.cumsum([len(each.filled) - len(each.taken) for each in rounds])
        assert (gained > np.arange(len(rounds))).all()


def test_named_decoders_can_all_be_had():
    for name in DECODERS:
        for settings in (DecodeSettings(), DecodeSettings(lookahead=7, tau_add=0.1, attention="block_causal")):
            chosen = settings.decoder(name)
            assert math.isclose(chosen.tau_conf, settings.tau_conf)
