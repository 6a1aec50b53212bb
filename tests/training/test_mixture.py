"""The training objectives: what is hidden, what may be seen and what is asked, sequence by sequence."""

import pytest
import torch

from lopa_core.training.mixture import Batch, ask, block_ratios

MASK, EOS, T = 99, 0, 24
ONLY = {"autoregressive": (1.0, 0, 0, 0), "prefix": (0, 1.0, 0, 0), "blocks": (0, 0, 1.0, 0), "uniform": (0, 0, 0, 1.0)}


@pytest.fixture
def batch() -> Batch:
    tokens = torch.arange(1, T + 1).repeat(16, 1)
    ends = torch.tensor([12, 20] * 8)
    for row, end in zip(tokens, ends):
        row[end - 1 :] = EOS
    return Batch(tokens, torch.tensor([4, 6] * 8), ends)


def question(batch, name):
    return ask(batch, ONLY[name], (8,), MASK, torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", ONLY)
def test_targets_are_the_next_tokens_and_prompts_stay_visible(batch, name):
    asked = question(batch, name)
    assert torch.equal(asked.targets, batch.tokens.flatten()[asked.rows + 1])
    for row, prompt, clean in zip(asked.inputs, batch.prompt, batch.tokens):
        assert torch.equal(row[:prompt], clean[:prompt])


def test_autoregressive_hides_nothing_and_looks_back_only(batch):
    asked = question(batch, "autoregressive")
    assert torch.equal(asked.inputs, batch.tokens)
    assert torch.equal(asked.mask[0, 0], torch.ones(T, T).tril().bool())
    assert len(asked.targets) == int((batch.ends - batch.prompt).sum())


@pytest.mark.parametrize("name", ["prefix", "blocks", "uniform"])
def test_diffusion_asks_exactly_what_it_hides(batch, name):
    asked = question(batch, name)
    hidden = (asked.inputs == MASK).flatten().nonzero().squeeze(1)
    assert len(hidden) and torch.equal(hidden, asked.rows + 1)


def test_prefix_hides_everything_behind_a_cut(batch):
    for row in question(batch, "prefix").inputs:
        first = int((row == MASK).nonzero()[0])
        assert (row[first:] == MASK).all()


def test_prefix_weighs_the_first_hidden_token_most(batch):
    asked = question(batch, "prefix")
    of_first_row = asked.weights[asked.rows < T]
    assert of_first_row[0] == of_first_row.max()


def test_block_causal_rows_see_no_later_block(batch):
    visible = question(batch, "blocks").mask[0, 0]
    prompt = int(batch.prompt[0])
    assert visible[0, :prompt].all() and not visible[0, prompt:].any()
    assert visible[prompt, : prompt + 8].all() and not visible[prompt, prompt + 8 :].any()


def test_block_ratios_never_fall_and_begin_at_zero(batch):
    block = (torch.arange(T) - batch.prompt[:, None]).clamp(min=-1).div(8, rounding_mode="floor") + 1
    ratios = block_ratios(batch, block, torch.Generator().manual_seed(0))
    assert (ratios[:, 0] == 0).all()
    assert (ratios.diff(dim=1) >= 0).all()
    assert (ratios[:, -1] > 0).all() and (ratios < 1 + 1e-6).all()


def test_padding_counts_little(batch):
    asked = question(batch, "uniform")
    behind = (asked.rows + 1) % T >= batch.ends[(asked.rows + 1) // T]
    assert behind.any() and asked.weights[behind].max() < asked.weights[~behind].min()
