"""Logits to records, against formulas written out naively in fp64."""

import numpy as np
import pytest
import torch

from lopa_core.decode.observation import Observation, observe

CLOSE = dict(rtol=1e-5, atol=1e-6)


def random_logits(rows=40, vocabulary=50, scale=3.0, seed=0):
    return scale * torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(seed))


def record(logits, **how):
    """observe() on a copy (it works in place), as (tokens, probabilities, confidences)."""
    how = {"confidence": "probability", "forbidden": None} | how
    return observe(logits.clone(), **how)


def naive(logits, kind, forbidden=None, temperature=1.0):
    """Softmax, argmax and the confidence as the paper writes them, row by row."""
    rows = []
    for row in logits.double():
        row = row.clone()
        if forbidden is not None:
            row[forbidden] = float("-inf")
        p = torch.exp(row / temperature) / torch.exp(row / temperature).sum()
        first, second = p.sort(descending=True).values[:2]
        positive = p[p > 0]
        value = {"probability": first, "margin": first - second, "neg_entropy": (positive * positive.log()).sum()}[kind]
        rows.append((p.argmax().double(), first, value))
    return torch.tensor(rows).T.float()


@pytest.mark.parametrize("scale", [0.01, 3.0, 12.0])
@pytest.mark.parametrize("forbidden", [None, 0, 7, 49])
@pytest.mark.parametrize("kind", ["probability", "margin", "neg_entropy"])
def test_records_are_the_formulas(kind, forbidden, scale):
    logits = random_logits(scale=scale)
    torch.testing.assert_close(record(logits, confidence=kind, forbidden=forbidden), naive(logits, kind, forbidden), **CLOSE)


@pytest.mark.parametrize("kind", ["probability", "margin", "neg_entropy"])
def test_forbidden_token_is_never_predicted_even_as_the_favourite(kind):
    logits = random_logits()
    logits[:, 7] = 50.0
    seen = record(logits, confidence=kind, forbidden=7)
    assert (seen[0] != 7).all() and torch.isfinite(seen).all()
    torch.testing.assert_close(seen, naive(logits, kind, 7), **CLOSE)


def test_ties_go_to_the_lower_token():
    logits = torch.zeros(2, 50)
    logits[0, [9, 4, 30]] = 2.0
    assert record(logits)[0].tolist() == [4, 0]
    assert record(logits, forbidden=0)[0].tolist() == [4, 1]


def test_certain_rows_are_certain():
    logits = torch.full((1, 50), -1000.0)
    logits[0, 3] = 1000.0
    wanted = {"probability": 1.0, "margin": 1.0, "neg_entropy": 0.0}
    for kind, value in wanted.items():
        assert record(logits, confidence=kind)[:, 0].tolist() == pytest.approx([3.0, 1.0, value], abs=1e-20, rel=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["probability", "margin", "neg_entropy"])
def test_half_precision_logits_are_computed_in_fp32(dtype, kind):
    logits = random_logits().to(dtype)
    seen = record(logits, confidence=kind, forbidden=5)
    assert seen.dtype == torch.float32
    torch.testing.assert_close(seen, naive(logits, kind, 5), **CLOSE)


def test_no_rows_give_no_records():
    assert record(random_logits(rows=0)).shape == (3, 0)


def sample(logits, uniforms, **how):
    return record(logits, uniforms=torch.as_tensor(uniforms, dtype=torch.float32), **{"temperature": 1.0} | how)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_sampling_follows_the_tempered_distribution(temperature):
    count, logits = 20_000, random_logits(rows=1, vocabulary=8, scale=1.0)
    uniforms = np.random.default_rng(3).random(count, dtype=np.float32)
    seen = sample(logits.expand(count, 8), uniforms, temperature=temperature, forbidden=2)
    tempered = logits[0].double() / temperature
    tempered[2] = float("-inf")
    expected = tempered.softmax(0)
    counts = torch.bincount(seen[0].long(), minlength=8).double()
    assert counts[2] == 0
    allowed = expected > 0
    chi_square = ((counts - count * expected)[allowed] ** 2 / (count * expected)[allowed]).sum()
    assert chi_square < 30  # six degrees of freedom: passed by all but 4 in 100 000 seeds, and this one is fixed
    torch.testing.assert_close(seen[1].double(), expected[seen[0].long()], **CLOSE)


def test_confidences_of_a_sample():
    """`probability` is the drawn token's own; the others describe the tempered distribution, whatever was drawn."""
    logits, uniforms = random_logits(), torch.linspace(0.01, 0.99, 40)
    assert torch.equal(*sample(logits, uniforms)[1:])
    for kind in ("margin", "neg_entropy"):
        seen = sample(logits, uniforms, temperature=0.7, confidence=kind)
        torch.testing.assert_close(seen[2], naive(logits, kind, temperature=0.7)[2], **CLOSE)


def test_same_uniform_gives_the_same_token_wherever_the_row_is():
    logits, uniforms = random_logits(), torch.rand(40, generator=torch.Generator().manual_seed(1))
    together = sample(logits, uniforms)[0]
    order = torch.randperm(40, generator=torch.Generator().manual_seed(2))
    assert torch.equal(sample(logits[order], uniforms[order])[0], together[order])
    assert torch.equal(sample(logits[7:8], uniforms[7:8])[0], together[7:8])


@pytest.mark.parametrize("forbidden", [0, 49])
@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-24])
@pytest.mark.parametrize("vocabulary", [50, 30_000])
def test_extreme_uniforms_draw_no_token_of_probability_zero(uniform, forbidden, vocabulary):
    """The ends of the cumulative sum are where a sampler falls off: onto the first or the last token of all."""
    logits = random_logits(rows=64, vocabulary=vocabulary, scale=2.0)
    forbidden = 0 if forbidden == 0 else vocabulary - 1  # the mask id often is the last
    seen = sample(logits, [uniform] * 64, forbidden=forbidden)
    assert (seen[0] != forbidden).all()
    assert (seen[1] > 0).all()


def test_smallest_temperature_still_gives_numbers():
    seen = sample(random_logits(), [0.5] * 40, temperature=1e-30)
    assert torch.isfinite(seen).all()
    assert torch.equal(seen[0], record(random_logits())[0])


def test_unpacked_records_keep_their_types():
    seen = Observation.unpack(np.array([[2**24 - 1, 5], [0.5, 0.25], [-1, -2]], dtype=np.float32))
    assert seen.tokens.dtype == np.int64 and seen.tokens.tolist() == [2**24 - 1, 5]
    part = seen.part(np.array([False, True]))
    assert (part.tokens.tolist(), part.probabilities.tolist(), part.confidences.tolist()) == ([5], [0.25], [-2.0])
