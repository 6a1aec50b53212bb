"""A checksum of all weights: whatever changes shows, wherever it is, and what is the same is the same."""

from copy import deepcopy

import pytest
import torch

from lopa_core.model.fingerprint import WORDS, checksum, fingerprint

from ..helpers.models import conformance_network

RANDOM = torch.Generator().manual_seed(0)
VALUES = torch.randn(2 * WORDS + 5, generator=RANDOM)  # more than two pieces, in fp32


def test_the_same_bytes_have_the_same_sum_however_they_lie():
    value = checksum(VALUES)
    assert value == checksum(VALUES.clone()) == checksum(torch.cat((VALUES, VALUES))[: len(VALUES)])
    assert value == checksum(torch.cat((VALUES[:1], VALUES))[1:])  # not at a multiple of eight bytes
    assert checksum(VALUES[:6].view(2, 3).T) == checksum(VALUES[:6].view(2, 3).T.contiguous())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool])
def test_every_single_value_counts(dtype):
    values = torch.randint(0, 2, (37,), generator=RANDOM).to(dtype)
    sums = {checksum(values)}
    for place in range(len(values)):
        changed = values.clone()
        changed[place] = 1 - int(values[place])
        sums.add(checksum(changed))
    assert len(sums) == len(values) + 1


def test_two_changes_do_not_make_up_for_each_other():
    """Signs are the highest bits: in a plain sum of words, even with weights, two of them cancel."""
    whole = checksum(VALUES)
    places = torch.randint(0, len(VALUES), (300, 2), generator=RANDOM).tolist() + [[1, 3], [0, 2 * WORDS], [5, 5 + 2**16]]
    for first, second in places:
        negated, swapped = VALUES.clone(), VALUES.clone()
        negated[[first, second]] *= -1
        swapped[[first, second]] = VALUES[[second, first]]
        assert first == second or whole not in (checksum(negated), checksum(swapped))


def test_zeros_are_not_nothing():
    assert len({checksum(torch.zeros(count)) for count in range(40)}) == 40


def test_all_tensors_are_told_with_shape_and_dtype():
    network = deepcopy(conformance_network("dream-a", dtype=torch.float32))
    before = fingerprint(network)
    assert before.keys() == dict(network.named_parameters()).keys() and before["norm.weight"].startswith("float32 [")
    with torch.no_grad():
        network.layers[1].attention_norm.weight[3] += 1e-6
    after = fingerprint(network)
    assert [name for name in before if before[name] != after[name]] == ["layers.1.attention_norm.weight"]


def test_buffers_count():
    network = torch.nn.BatchNorm1d(3)
    before = fingerprint(network)
    network.running_mean += 1
    assert {name for name, told in fingerprint(network).items() if told != before[name]} == {"running_mean"}
