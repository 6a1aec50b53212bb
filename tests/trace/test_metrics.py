"""The numbers people compare: each against a value worked out by hand."""

import pytest

from lopa_core.trace.metrics import Metrics, measure, progress, tokens_to_eos, total

from ..helpers.traces import recorded, written


def test_counts_of_a_hand_written_trace():
    numbers = measure(written((5, 6, 7, 8)))
    assert (numbers.rounds, numbers.branch_forwards, numbers.tokens, numbers.slots_written) == (2, 3, 4, 4)
    assert numbers.tpf == 2.0
    assert numbers.seconds == 1.0
    assert numbers.tokens_per_second == 4.0
    assert numbers.network_share == pytest.approx(0.7)


def test_tokens_stop_at_the_first_end_of_text_and_include_it():
    assert tokens_to_eos((5, 9, 7, 9), (9,), 11) == 2
    assert tokens_to_eos((5, 6, 7), (9,), 11) == 3
    assert tokens_to_eos((5, 9, 7), (), 11) == 3
    assert tokens_to_eos((5, 7, 8, 9), (9, 7), 11) == 2  # whichever comes first


def test_masked_slots_are_not_tokens():
    assert tokens_to_eos((5, 11, 7, 9, 11), (9,), 11) == 3


def test_ids_are_cut_where_the_settings_stop():
    assert written((5, 9, 7, 8)).ids == (5, 9)
    assert written((5, 9, 7, 8), stop_at_eos=False).ids == (5, 9, 7, 8)


def test_totals_are_sums_so_that_ratios_weigh_every_token_alike():
    short, long = Metrics(1, 1, 1, 1, 1.0, 0.5), Metrics(3, 3, 9, 9, 1.0, 0.5)
    both = total([short, long])
    assert both.tpf == 10 / 4 != (short.tpf + long.tpf) / 2
    assert both.tokens_per_second == 5
    assert total([]).tpf == 0


def test_a_real_decode_adds_up():
    trace = recorded()
    numbers = measure(trace)
    assert numbers.slots_written == len(trace.tokens) == 32
    assert numbers.branch_forwards == sum(len(each.branches) for each in trace.rounds) > numbers.rounds
    assert 0 < numbers.network_seconds < numbers.seconds
    assert [each.seconds for each in trace.rounds] == sorted(each.seconds for each in trace.rounds)


def test_progress_ends_where_measure_does():
    trace = recorded()
    told = progress(trace)
    assert len(told) == len(trace.rounds) and [tokens for tokens, _ in told] == sorted(tokens for tokens, _ in told)
    assert told[-1] == (measure(trace).tokens, measure(trace).seconds)
    assert progress(written((5, 6, 7, 8))) == [(2, 0.5), (4, 1.0)]
