"""Intervals against published values, and the benchmark's sums."""

import pytest

from lopa_core.bench.accuracy import interval, run
from lopa_core.decode.settings import DecodeSettings
from lopa_core.model.presets import DEFAULT, PRESETS
from lopa_core.runtime.session import open_model
from lopa_core.tasks.word_problems import problems


def test_wilson_interval():
    # R: binom::binom.wilson(8, 10) and (0, 10)
    assert interval(8, 10) == pytest.approx((0.4901625, 0.9433178), abs=1e-4)
    assert interval(0, 10) == pytest.approx((0.0, 0.2775328), abs=1e-4)
    assert interval(0, 0) == (0.0, 1.0)


def test_results_add_up_and_progress_is_told():
    settings = DecodeSettings(**PRESETS[DEFAULT].settings)
    held_out = list(problems(3, split="test"))
    told = []
    results = run(open_model(), held_out, {"confidence": settings.decoder("confidence"), "lopa": settings}, lambda: told.append(1))
    assert len(told) == 6
    for result in results:
        row = result.as_dict()
        assert row["problems"] == 3
        assert row["rounds"] == sum(each.rounds for each in result.metrics)
        assert row["accuracy"] == pytest.approx(100 * result.right / 3)
    assert results[0].as_dict()["same_text"] == 3


def test_a_lossless_decoder_writes_the_first_one_s_text():
    settings = DecodeSettings(**PRESETS[DEFAULT].settings)
    lanes = {name: settings.decoder(name) for name in ("vanilla", "freedave", "lopa-paper")}
    vanilla, lossless, other = run(open_model(), list(problems(6, split="test")), lanes)
    assert (vanilla.same_text, lossless.same_text) == (6, 6) and other.same_text < 6
