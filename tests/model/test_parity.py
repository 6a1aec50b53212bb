"""Our network against transformers' own Qwen2 and Llama on the same files, run without their causal mask."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

from lopa_core.model.cache import Cache
from lopa_core.model.checkpoint import load
from lopa_core.model.mask import block_causal_mask, padding_mask

from ..helpers.models import dream_config, llada_config, random_network, write_checkpoint

# their norms and rotary tables are fp32 inside an fp64 network, which leaves this much
THEIRS = dict(rtol=0, atol=3e-5)
OURS = dict(rtol=0, atol=1e-12)

LLAMA_TO_LLADA = {
    "model.embed_tokens": "model.transformer.wte", "model.norm": "model.transformer.ln_f", "lm_head": "model.transformer.ff_out",
    "model.layers": "model.transformer.blocks", "self_attn.o_proj": "attn_out", "self_attn.": "", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ff_norm", "mlp.gate_proj": "ff_proj", "mlp.up_proj": "up_proj", "mlp.down_proj": "ff_out",
}  # fmt: skip


def as_their_config(raw, kind, **more):
    return kind(
        vocab_size=raw["vocab_size"], hidden_size=raw.get("hidden_size") or raw["d_model"],
        intermediate_size=raw.get("intermediate_size") or raw["mlp_hidden_size"],
        num_hidden_layers=raw.get("num_hidden_layers") or raw["n_layers"],
        num_attention_heads=raw.get("num_attention_heads") or raw["n_heads"],
        num_key_value_heads=raw.get("num_key_value_heads") or raw["n_kv_heads"],
        rms_norm_eps=raw["rms_norm_eps"], rope_parameters={"rope_type": "default", "rope_theta": raw["rope_theta"]},
        tie_word_embeddings=raw.get("tie_word_embeddings", raw.get("weight_tying")), max_position_embeddings=96,
        use_cache=False, attn_implementation="eager", **more,
    )  # fmt: skip


def randomise(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in model.named_parameters():
            noise = 0.3 * torch.randn(value.shape, generator=generator, dtype=value.dtype)
            # LLaDA's include_qkv_bias leaves the output projection without one; Llama's attention_bias does not
            value.copy_(noise * ("o_proj.bias" not in name) + ("norm" in name))
    return model.double().eval()


def dream_pair(folder, seed=0, **changes):
    """The same Dream weights in transformers' Qwen2 and, by way of files, in our network."""
    raw = dream_config(**changes)
    theirs = randomise(Qwen2ForCausalLM(as_their_config(raw, Qwen2Config)), seed)
    return theirs, through_files(folder, raw, dict(theirs.state_dict()))


def llada_pair(folder, seed=0, **changes):
    """The same LLaDA weights in transformers' Llama and, by way of files, in our network."""
    raw = llada_config(**changes)
    theirs = randomise(LlamaForCausalLM(as_their_config(raw, LlamaConfig, attention_bias=raw["include_qkv_bias"])), seed)
    tensors = {}
    for key, value in theirs.state_dict().items():
        for old, new in LLAMA_TO_LLADA.items():
            key = key.replace(old, new)
        if "attn_out.bias" not in key:
            tensors[key] = value
    return theirs, through_files(folder, raw, tensors)


def through_files(folder, raw, tensors):
    if raw.get("tie_word_embeddings") or raw.get("weight_tying"):
        tensors = {key: value for key, value in tensors.items() if key not in ("lm_head.weight", "model.transformer.ff_out.weight")}
    return load(write_checkpoint(folder, raw, {key: value.contiguous() for key, value in tensors.items()}), dtype=torch.float64)


def their_logits(theirs, tokens, mask=None):
    """mask [1, 1, W, W] bool; none: everything is seen, which a 4-D mask of zeros says."""
    bias = torch.zeros(len(tokens), 1, tokens.shape[1], tokens.shape[1], dtype=torch.float64)
    if mask is not None:
        bias = bias.masked_fill(~mask, torch.finfo(torch.float64).min)
    with torch.inference_mode():
        return theirs(input_ids=tokens, attention_mask=bias).logits


def random_tokens(rows, width, seed=1):
    return torch.randint(0, 61, (rows, width), generator=torch.Generator().manual_seed(seed))


PAIRS = {
    "dream, grouped queries": (dream_pair, {}),
    "dream, one key per query": (dream_pair, {"num_key_value_heads": 6}),
    "dream, one key for all": (dream_pair, {"num_key_value_heads": 1}),
    "dream, tied": (dream_pair, {"tie_word_embeddings": True}),
    "llada, grouped queries": (llada_pair, {}),
    "llada, one key per query": (llada_pair, {"n_kv_heads": 6}),
    "llada, tied": (llada_pair, {"weight_tying": True}),
    "llada, bias": (llada_pair, {"include_qkv_bias": True}),
}


@pytest.mark.parametrize("name", PAIRS)
def test_logits_are_those_of_transformers(name, tmp_path):
    make, changes = PAIRS[name]
    theirs, ours = make(tmp_path, **changes)
    tokens = random_tokens(2, 23)
    logits = ours.head(ours(tokens))
    assert logits.std() > 0.3  # else the tolerance would say little
    torch.testing.assert_close(logits, their_logits(theirs, tokens), **THEIRS)


@pytest.mark.parametrize("make", [dream_pair, llada_pair])
def test_block_causal_logits_are_those_of_transformers(make, tmp_path):
    theirs, ours = make(tmp_path)
    tokens, mask = random_tokens(2, 5 + 4 * 4), block_causal_mask(0, 21, 5, 4, "cpu")
    torch.testing.assert_close(ours.head(ours(tokens, mask=mask)), their_logits(theirs, tokens, mask), **THEIRS)


def test_block_causal_mask_hand_drawn():
    drawn = ["11.....", "11.....", "1111...", "1111...", "111111.", "111111.", "1111111"]
    expected = torch.tensor([[letter == "1" for letter in row] for row in drawn])
    assert torch.equal(block_causal_mask(0, 7, 2, 2, "cpu")[0, 0], expected)
    assert torch.equal(block_causal_mask(3, 7, 2, 2, "cpu")[0, 0], expected[3:])


@pytest.mark.parametrize("again", [0, 1])
@pytest.mark.parametrize("boundary", range(4))
def test_block_causal_cache_equals_one_full_forward_wherever_it_is_split(boundary, again):
    """Also where the window reads the last cached slot again, as it does for Dream's boundary prediction."""
    network, tokens = random_network(dream_config()), random_tokens(1, 21)
    whole = network(tokens, mask=block_causal_mask(0, 21, 5, 4, "cpu"))
    split = 5 + 4 * boundary
    cache = new_cache(network, rows=1, length=21)
    first = network(tokens[:, :split], mask=block_causal_mask(0, split, 5, 4, "cpu"), cache=cache)
    cache.commit(0, 0, split, rows=1)
    start = split - again
    rest = network(tokens[:, start:], start=start, mask=block_causal_mask(start, 21, 5, 4, "cpu"), cache=cache)
    torch.testing.assert_close(torch.cat((first[:, :start], rest), dim=1), whole, **OURS)


@pytest.mark.parametrize("make", [dream_pair, llada_pair])
def test_full_attention_window_sees_a_prefix_that_was_blind_to_it(make, tmp_path):
    theirs, ours = make(tmp_path)
    tokens, split = random_tokens(1, 20), 8
    cache = new_cache(ours, rows=1, length=20)
    first = ours(tokens[:, :split], cache=cache)
    cache.commit(0, 0, split, rows=1)
    rest = ours(tokens[:, split:], start=split, cache=cache)
    mask = torch.ones(1, 1, 20, 20, dtype=torch.bool)
    mask[..., :split, split:] = False
    torch.testing.assert_close(ours.head(torch.cat((first, rest), dim=1)), their_logits(theirs, tokens, mask), **THEIRS)


def test_batch_of_branches_equals_single_forwards_and_the_winner_is_committed_to_all():
    network = random_network(llada_config())
    prefix, futures = random_tokens(3, 6, seed=2), random_tokens(3, 9, seed=3)
    batch = new_cache(network, rows=3, length=15)
    network(prefix, cache=batch)
    batch.commit(1, 0, 6, rows=3)
    together = network(futures, start=6, cache=batch)
    for row in range(3):
        alone = new_cache(network, rows=1, length=15)
        network(prefix[1:2], cache=alone)
        expected = network(futures[row : row + 1], start=6, cache=alone)
        torch.testing.assert_close(together[row : row + 1], expected, **OURS)


def test_padded_rows_equal_unpadded_ones():
    network, tokens, ends = random_network(dream_config()), random_tokens(3, 18), torch.tensor([18, 10, 14])
    padded = network(tokens, mask=padding_mask(ends, 18))
    for row, end in enumerate(ends.tolist()):
        torch.testing.assert_close(padded[row : row + 1, :end], network(tokens[row : row + 1, :end]), **OURS)


MASKS = {"full": None, "blocks": block_causal_mask(0, 18, 6, 4, "cpu"), "padded": padding_mask(torch.tensor([18, 10, 14]), 18)}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_rows_that_are_asked_for_equal_those_of_the_whole_window(mask):
    network, tokens = random_network(dream_config()), random_tokens(3, 18)
    columns = torch.tensor([[0, 3, 9], [9, 1, 1], [13, 2, 0]])
    whole = network(tokens, mask=mask)
    asked = network(tokens, mask=mask, columns=columns)
    torch.testing.assert_close(asked, torch.stack([row[each] for row, each in zip(whole, columns)]), **OURS)


def test_training_attention_equals_the_fused_one():
    network, tokens = random_network(dream_config()), random_tokens(2, 13)
    mask = block_causal_mask(0, 13, 5, 4, "cpu")
    fused = network(tokens, mask=mask)
    torch.testing.assert_close(network.train()(tokens, mask=mask), fused, **OURS)


def test_network_can_train_after_it_was_used_for_inference():
    """Rotary tables are kept between forwards; kept from inference mode they would stop the backward pass."""
    network = random_network(dream_config()).train().requires_grad_(True)
    with torch.inference_mode():
        network(random_tokens(1, 5))
    network(random_tokens(1, 5)).sum().backward()
    assert network.layers[0].attention.qkv.weight.grad.abs().sum() > 0


def test_positions_behind_the_model_are_refused():
    network = random_network(dream_config(max_position_embeddings=16))
    with pytest.raises(ValueError, match="17.*16"):
        network(random_tokens(1, 4), start=13)


def new_cache(network, *, rows, length):
    return Cache(network.config, rows=rows, length=length, device=torch.device("cpu"), dtype=torch.float64)
