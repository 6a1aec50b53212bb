"""Parameters counted from config.json against built networks; memory against what a decode really holds."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import ModernBertConfig, ModernBertForMaskedLM

from lopa_core.bench.steps import SHAPES
from lopa_core.model.cache import Cache
from lopa_core.model.errors import ModelError
from lopa_core.model.family import ModelConfig, parse_config
from lopa_core.model.network import Transformer
from lopa_core.model.size import LENGTH, MASKS, ROWS, choose_dtype, count_in_words, in_words, largest, needed, parameters
from tests.helpers.models import dream_config, llada_config

CONFIGS = {
    "dream": dream_config(),
    "dream, tied": dream_config(tie_word_embeddings=True),
    "dream, wide heads": dream_config(head_dim=10),
    "dream, no grouping": dream_config(num_key_value_heads=6),
    "llada": llada_config(),
    "llada, bias": llada_config(include_qkv_bias=True),
    "llada, tied": llada_config(weight_tying=True),
    "qwen3": dream_config(model_type="a2d-qwen3", head_dim=10),
    "llama": dream_config(model_type="llama"),
}
SIZES = (5_000_000, 750_000_000, 7_600_000_000)


def counted(config: ModelConfig) -> int:
    with torch.device("meta"):
        return sum(value.numel() for value in Transformer(config).parameters())


@pytest.mark.parametrize("name", CONFIGS)
def test_the_count_is_that_of_a_built_network(name):
    config = parse_config(CONFIGS[name])
    assert parameters(config) == counted(config)


def test_the_count_of_an_encoder_is_that_of_transformers_own_class():
    raw = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 3, "num_attention_heads": 4}
    special = dict.fromkeys(("pad_token_id", "eos_token_id", "bos_token_id", "cls_token_id", "sep_token_id"), 0)
    native = ModernBertConfig(**raw, **special, max_position_embeddings=64)
    with torch.device("meta"):
        network = ModernBertForMaskedLM(native)
    config = parse_config(native.to_dict() | {"mask_token_id": 1})
    assert parameters(config) == sum(value.numel() for value in network.parameters())


@pytest.mark.parametrize(("name", "billions"), [("dream-7b", "7.6B"), ("llada-8b", "8.0B")])
def test_the_count_of_published_shapes(name, billions):
    config = ModelConfig(**SHAPES[name], head_dim=128, mask_id=1, eos_id=0)
    assert parameters(config) == counted(config)
    assert count_in_words(parameters(config)) == billions


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("name", ["dream-7b", "llada-8b"])
def test_what_is_needed_covers_weights_cache_and_logits(name, dtype):
    config = ModelConfig(**SHAPES[name], head_dim=128, mask_id=1, eos_id=0)
    cache = Cache(config, rows=ROWS, length=LENGTH, device=torch.device("meta"), dtype=dtype)
    held = parameters(config) * dtype.itemsize + cache.keys.nbytes + cache.values.nbytes + MASKS * config.vocab_size * 4 * 3
    assert held <= needed(parameters(config), dtype) <= 1.5 * parameters(config) * dtype.itemsize


def test_a_tiny_model_needs_little():
    assert needed(4_800_000, torch.float32) < 200e6


@given(st.integers(0, 10**11), st.integers(0, 10**9))
def test_more_parameters_need_more(count, more):
    for dtype in (torch.bfloat16, torch.float32):
        assert needed(count, dtype) <= needed(count + more, dtype)


@pytest.mark.parametrize("count", SIZES)
def test_a_gpu_takes_bf16_however_much_room_there_is(count):
    assert choose_dtype(count, available=10**12, kind="cuda") is torch.bfloat16
    assert choose_dtype(count, available=needed(count, torch.bfloat16), kind="cuda") is torch.bfloat16


@pytest.mark.parametrize("count", SIZES)
def test_a_cpu_takes_fp32_where_it_fits_and_bf16_else(count):
    wide, narrow = needed(count, torch.float32), needed(count, torch.bfloat16)
    assert choose_dtype(count, available=wide, kind="cpu") is torch.float32
    assert choose_dtype(count, available=wide - 1, kind="cpu") is torch.bfloat16
    assert choose_dtype(count, available=narrow, kind="cpu") is torch.bfloat16


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
@pytest.mark.parametrize("count", SIZES)
def test_what_does_not_fit_is_told_with_what_would(count, kind):
    available = needed(count, torch.bfloat16) - 1
    with pytest.raises(ModelError) as told:
        choose_dtype(count, available=available, kind=kind)
    sentence = str(told.value)
    for part in (count_in_words(count), in_words(available), "--dtype bfloat16", "GPU" if kind == "cuda" else "machine"):
        assert part in sentence
    assert ("--device cpu" in sentence) == (kind == "cuda")
    assert count_in_words(largest(available, torch.bfloat16)) in sentence


@given(st.integers(10**6, 10**12))
def test_the_largest_model_fits_and_hardly_a_larger_one(available):
    most = largest(available, torch.bfloat16)
    assert needed(most, torch.bfloat16) <= available < needed(int(most * 1.11) + 1, torch.bfloat16)


@pytest.mark.parametrize(("size", "words"), [(15_231_000_000, "15.2 GB"), (340_200_000, "340 MB"), (1300, "1 kB")])
def test_bytes_in_words(size, words):
    assert in_words(size) == words
