"""Our network against transformers' own Qwen2, Qwen3 and Llama on the same files, run without their causal mask."""

import pytest
import torch

from lopa_core.model.checkpoint import load
from lopa_core.model.mask import block_causal_mask

from ..helpers import theirs
from ..helpers.models import dream_config, llada_config, llama_config, qwen2_config, qwen3_config

FP64 = dict(rtol=0, atol=1e-12)
FP32 = dict(rtol=0, atol=1e-5)

FAMILIES = {
    "dream": dream_config(),
    "llada": llada_config(),
    "sdar": qwen3_config(model_type="sdar", block_size=4),
    "a2d-qwen3": qwen3_config(model_type="a2d-qwen3"),
    "a2d-qwen2": qwen2_config(model_type="a2d-qwen2", tie_word_embeddings=True),
    "a2d-llama": llama_config(model_type="a2d-llama"),
    "qwen3": qwen3_config(),
    "qwen2": qwen2_config(),
    "llama": llama_config(),
}
VARIANTS = {
    "dream, one key per query": dream_config(num_key_value_heads=6),
    "dream, one key for all": dream_config(num_key_value_heads=1),
    "dream, tied": dream_config(tie_word_embeddings=True),
    "llada, one key per query": llada_config(n_kv_heads=6),
    "llada, tied": llada_config(weight_tying=True),
    "llada, bias": llada_config(include_qkv_bias=True),
    "qwen3, tied": qwen3_config(tie_word_embeddings=True),
    "qwen3, one key per query": qwen3_config(num_key_value_heads=6),
    "llama, wide heads": llama_config(head_dim=8),
}
EACH = pytest.mark.parametrize("raw", FAMILIES.values(), ids=FAMILIES)


def pair(folder, raw, dtype=torch.float64):
    """The same weights in their class and, by way of files, in our network."""
    model = theirs.theirs(raw, dtype=dtype)
    return model, load(theirs.write(folder, model, raw), dtype=dtype)


def random_tokens(rows, width, seed=1):
    return torch.randint(0, 61, (rows, width), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, FP64), (torch.float32, FP32)], ids=["fp64", "fp32"])
@pytest.mark.parametrize("raw", (FAMILIES | VARIANTS).values(), ids=FAMILIES | VARIANTS)
def test_logits_are_those_of_transformers(raw, dtype, close, tmp_path):
    model, ours = pair(tmp_path, raw, dtype)
    tokens = random_tokens(2, 23)
    logits = ours.head(ours(tokens))
    assert logits.std() > 0.3  # else the tolerance would say little
    torch.testing.assert_close(logits, theirs.logits(model, tokens), **close)


@EACH
def test_block_causal_cache_split_at_every_block_is_their_forward_under_the_mask(raw, tmp_path):
    """Also where the window reads the last cached slot again, as it does for Dream's boundary prediction."""
    model, ours = pair(tmp_path, raw)
    tokens = random_tokens(2, 5 + 4 * 4)
    expected = theirs.logits(model, tokens, block_causal_mask(0, 21, 5, 4, "cpu"))
    torch.testing.assert_close(ours.head(ours(tokens, mask=block_causal_mask(0, 21, 5, 4, "cpu"))), expected, **FP64)
    for split in range(5, 21, 4):
        for start in (split, split - 1):
            cache = ours.new_cache(rows=2, length=21)
            first = ours(tokens[:, :split], mask=block_causal_mask(0, split, 5, 4, "cpu"), cache=cache)
            rest = ours(tokens[:, start:], start=start, mask=block_causal_mask(start, 21, 5, 4, "cpu"), cache=cache)
            torch.testing.assert_close(ours.head(torch.cat((first[:, :start], rest), dim=1)), expected, **FP64)


@EACH
def test_committing_block_by_block_is_one_forward(raw, tmp_path):
    """The winner's keys and values serve all rows, block after block."""
    model, ours = pair(tmp_path, raw)
    tokens = random_tokens(1, 21).repeat(3, 1)
    tokens[0], tokens[2] = random_tokens(2, 21, seed=5)
    cache, told = ours.new_cache(rows=3, length=21), []
    bounds = (0, 5, 9, 13, 17, 21)
    for start, end in zip(bounds, bounds[1:]):
        told.append(ours(tokens[:, start:end], start=start, cache=cache)[1:2])
        cache.commit(1, start, end, rows=3)
    expected = theirs.logits(model, tokens[1:2], block_causal_mask(0, 21, 5, 4, "cpu"))
    torch.testing.assert_close(ours.head(torch.cat(told, dim=1)), expected, **FP64)


@EACH
def test_full_attention_window_sees_a_prefix_that_was_blind_to_it(raw, tmp_path):
    model, ours = pair(tmp_path, raw)
    tokens = random_tokens(1, 20)
    for split in range(4, 20, 4):
        cache = ours.new_cache(rows=1, length=20)
        first = ours(tokens[:, :split], cache=cache)
        cache.commit(0, 0, split, rows=1)
        rest = ours(tokens[:, split:], start=split, cache=cache)
        mask = torch.ones(1, 1, 20, 20, dtype=torch.bool)
        mask[..., :split, split:] = False
        torch.testing.assert_close(ours.head(torch.cat((first, rest), dim=1)), theirs.logits(model, tokens, mask), **FP64)
