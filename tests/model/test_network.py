"""The network against itself: batches, padding, masks, rows asked for, training."""

import pytest
import torch

from lopa_core.model.mask import block_causal_mask, padding_mask
from lopa_core.model.network import rope_table, rotate

from ..helpers.models import dream_config, llada_config, qwen3_config, random_network

CLOSE = dict(rtol=0, atol=1e-12)
BODIES = pytest.mark.parametrize("raw", [dream_config(), llada_config(), qwen3_config()], ids=["qwen2", "llama", "qwen3"])


def random_tokens(rows, width, seed=1):
    return torch.randint(0, 61, (rows, width), generator=torch.Generator().manual_seed(seed))


def test_block_causal_mask_hand_drawn():
    drawn = ["11.....", "11.....", "1111...", "1111...", "111111.", "111111.", "1111111"]
    expected = torch.tensor([[letter == "1" for letter in row] for row in drawn])
    assert torch.equal(block_causal_mask(0, 7, 2, 2, "cpu")[0, 0], expected)
    assert torch.equal(block_causal_mask(3, 7, 2, 2, "cpu")[0, 0], expected[3:])


@BODIES
def test_batch_of_branches_equals_single_forwards_and_the_winner_is_committed_to_all(raw):
    network = random_network(raw)
    prefix, futures = random_tokens(3, 6, seed=2), random_tokens(3, 9, seed=3)
    batch = network.new_cache(rows=3, length=15)
    network(prefix, cache=batch)
    batch.commit(1, 0, 6, rows=3)
    together = network(futures, start=6, cache=batch)
    for row in range(3):
        alone = network.new_cache(rows=1, length=15)
        network(prefix[1:2], cache=alone)
        expected = network(futures[row : row + 1], start=6, cache=alone)
        torch.testing.assert_close(together[row : row + 1], expected, **CLOSE)


def test_cache_is_of_the_networks_kind():
    network = random_network(qwen3_config(), dtype=torch.bfloat16)
    cache = network.new_cache(rows=3, length=15)
    assert (network.device, network.dtype) == (torch.device("cpu"), torch.bfloat16)
    assert cache.keys.shape == cache.values.shape == (3, 3, 2, 15, 10) and cache.keys.dtype == torch.bfloat16


@BODIES
def test_padded_rows_equal_unpadded_ones(raw):
    network, tokens, ends = random_network(raw), random_tokens(3, 18), torch.tensor([18, 10, 14])
    padded = network(tokens, mask=padding_mask(ends, 18))
    for row, end in enumerate(ends.tolist()):
        torch.testing.assert_close(padded[row : row + 1, :end], network(tokens[row : row + 1, :end]), **CLOSE)


MASKS = {"full": None, "blocks": block_causal_mask(0, 18, 6, 4, "cpu"), "padded": padding_mask(torch.tensor([18, 10, 14]), 18)}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@BODIES
def test_rows_that_are_asked_for_equal_those_of_the_whole_window(raw, mask):
    network, tokens = random_network(raw), random_tokens(3, 18)
    columns = torch.tensor([[0, 3, 9], [9, 1, 1], [13, 2, 0]])
    whole = network(tokens, mask=mask)
    asked = network(tokens, mask=mask, columns=columns)
    torch.testing.assert_close(asked, torch.stack([row[each] for row, each in zip(whole, columns)]), **CLOSE)


@BODIES
def test_training_attention_equals_the_fused_one(raw):
    network, tokens = random_network(raw), random_tokens(2, 13)
    mask = block_causal_mask(0, 13, 5, 4, "cpu")
    fused = network(tokens, mask=mask)
    torch.testing.assert_close(network.train()(tokens, mask=mask), fused, **CLOSE)


@BODIES
def test_network_can_train_after_it_was_used_for_inference(raw):
    """Rotary tables are kept between forwards; kept from inference mode they would stop the backward pass."""
    network = random_network(raw).train().requires_grad_(True)
    with torch.inference_mode():
        network(random_tokens(1, 5))
    network(random_tokens(1, 5)).sum().backward()
    assert all(value.grad.abs().sum() > 0 for name, value in network.named_parameters() if "layers.0.attention" in name)


def test_positions_behind_the_model_are_refused():
    network = random_network(dream_config(max_position_embeddings=16))
    with pytest.raises(ValueError, match="17.*16"):
        network(random_tokens(1, 4), start=13)


@pytest.mark.parametrize("wide", [True, False])
def test_queries_and_keys_are_rotated_in_the_precision_of_training(wide):
    """LLaDA's rope_full_precision: in fp32, so that the result is off by one rounding at most; else in the model's dtype."""
    network = random_network(llada_config(rope_full_precision=wide), dtype=torch.bfloat16)
    x = torch.randn(2, 6, 40, 6, generator=torch.Generator().manual_seed(0)).bfloat16()
    turned = rotate(x, *network.rope(slice(0, 40), x.device, x.dtype))
    exact = rotate(x.double(), *(table[:40] for table in rope_table(network.config, x.device, torch.float64)))
    assert turned.dtype == torch.bfloat16
    assert ((turned.double() - exact).abs() <= exact.abs() * 2**-8 + 1e-6).all() == wide


@pytest.mark.parametrize(("dtype", "differs"), [(torch.bfloat16, True), (torch.float32, False)])
def test_the_precision_of_the_rotation_reaches_the_logits(dtype, differs):
    networks = [random_network(llada_config(rope_full_precision=wide), dtype=dtype) for wide in (True, False)]
    logits = [network.head(network(torch.arange(40)[None])) for network in networks]
    assert torch.equal(*logits) != differs
