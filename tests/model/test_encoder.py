"""ModernBERT behind the face of a network: what it says is what transformers' own class says of the whole sequence."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from lopa_core.model.checkpoint import load
from lopa_core.model.encoder import Encoder
from lopa_core.model.errors import ModelError
from lopa_core.model.mask import block_causal_mask, padding_mask

from ..helpers.theirs import their_encoder

FP64 = dict(rtol=0, atol=1e-12)
FP32 = dict(rtol=0, atol=1e-5)


def save(folder, dtype=torch.float64, **changes):
    """The folder of a random ModernBERT as its own save_pretrained writes it, with a mask token; and the model."""
    model = their_encoder(dtype=dtype)
    model.save_pretrained(folder)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"mask_token_id": 60} | changes))
    return model


def tokens(rows, width, seed=1):
    return torch.randint(0, 61, (rows, width), generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def their_logits(model, whole):
    return model(input_ids=whole).logits


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modernbert")
    model = save(folder)
    return model, load(folder, dtype=torch.float64)


@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, FP64), (torch.float32, FP32)], ids=["fp64", "fp32"])
def test_logits_are_those_of_transformers(tmp_path, dtype, close):
    model = save(tmp_path, dtype)
    ours, whole = load(tmp_path, dtype=dtype), tokens(2, 40)
    logits = ours.head(ours(whole))
    assert isinstance(ours, Encoder) and ours.dtype == dtype and logits.std() > 0.3
    torch.testing.assert_close(logits, their_logits(model, whole), **close)


def test_config_tells_its_facts(pair):
    config = pair[1].config
    assert (config.family, config.shifted, config.attention, config.encoder) == ("modernbert", False, "full", True)
    assert (config.mask_id, config.eos_id, config.max_positions, config.tied) == (60, 59, 96, True)


def test_window_behind_a_committed_prefix_is_the_whole_sequence_exactly(pair):
    """No approximation: the prefix, too, is read anew and sees the window."""
    model, ours = pair
    branches = tokens(3, 30)
    branches[:, :13] = branches[1, :13]
    cache = ours.new_cache(rows=3, length=30)
    first = branches[:, :13].clone()
    first[0, 5:], first[2, 5:] = 7, 8  # the losers saw something else
    ours(first, cache=cache)
    cache.commit(1, 0, 13, rows=3)
    ours(tokens(3, 9, seed=4), start=13, cache=cache)  # scratch, which the next forward writes over
    told = ours.head(ours(branches[:, 13:], start=13, cache=cache))
    torch.testing.assert_close(told, their_logits(model, branches)[:, 13:], **FP64)


def test_a_span_makes_another_cache_the_same(pair):
    model, ours = pair
    whole = tokens(2, 20)
    here, there = ours.new_cache(rows=2, length=20), ours.new_cache(rows=3, length=25)
    ours(whole[:, :12], cache=here)
    span = here.span(1, 4, 12)
    assert span.is_contiguous() and torch.equal(span, whole[1, 4:12])
    there.fill(here.span(1, 0, 4), 0, 4, rows=2)
    there.fill(span, 4, 12, rows=2)
    told = ours.head(ours(whole[1:, 12:].repeat(2, 1), start=12, cache=there))
    torch.testing.assert_close(told, their_logits(model, whole[1:])[:, 12:].repeat(2, 1, 1), **FP64)


def test_padded_rows_equal_unpadded_ones(pair):
    model, ours = pair
    whole, ends = tokens(3, 18), torch.tensor([18, 10, 14])
    cache = ours.new_cache(rows=3, length=18)
    whole[:, :6] = whole[0, :6]
    ours(whole[:, :6], cache=cache)
    padded = ours.head(ours(whole[:, 6:], start=6, mask=padding_mask(ends, 18), cache=cache))
    for row, end in enumerate(ends.tolist()):
        torch.testing.assert_close(padded[row : row + 1, : end - 6], their_logits(model, whole[row : row + 1, :end])[:, 6:], **FP64)


def test_rows_that_are_asked_for_equal_those_of_the_whole_window(pair):
    _, ours = pair
    whole, columns = tokens(3, 18), torch.tensor([[0, 3, 9], [9, 1, 1], [13, 2, 0]])
    expected = torch.stack([row[each] for row, each in zip(ours(whole), columns)])
    torch.testing.assert_close(ours(whole, columns=columns), expected, **FP64)


def test_block_causal_attention_is_refused(pair):
    with pytest.raises(ModelError, match="modernbert is an encoder.*full attention"):
        pair[1](tokens(1, 12), mask=block_causal_mask(0, 12, 4, 4, "cpu"))


def test_positions_behind_the_model_are_refused(pair):
    with pytest.raises(ValueError, match="100.*96"):
        pair[1](tokens(1, 100))


def test_the_shared_matrix_may_be_stored_twice(tmp_path):
    model = save(tmp_path)
    path = tmp_path / "model.safetensors"
    held = load_file(path)
    save_file(held | {"decoder.weight": held["model.embeddings.tok_embeddings.weight"].clone()}, path, metadata={"format": "pt"})
    ours, whole = load(tmp_path, dtype=torch.float64), tokens(1, 12)
    torch.testing.assert_close(ours.head(ours(whole)), their_logits(model, whole), **FP64)


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"head.dense.weight": None}, "lacks head.dense.weight"),
        ({"classifier.weight": torch.zeros(2, 36)}, "classifier.weight among them"),
        ({"model.final_norm.weight": torch.zeros(35)}, "model.final_norm.weight has shape"),
        ({"decoder.bias": torch.zeros(61, dtype=torch.int8)}, "decoder.bias is stored as I8"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_strict_account_of_keys(tmp_path, change, culprit):
    save(tmp_path)
    path = tmp_path / "model.safetensors"
    tensors = {key: value for key, value in (load_file(path) | change).items() if value is not None}
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(ModelError, match=culprit):
        load(tmp_path)


def test_pickles_and_damaged_files_are_named(tmp_path):
    save(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelError, match="model.safetensors is damaged or cut short"):
        load(tmp_path)
    path.rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match="pytorch_model.bin is a pickle"):
        load(tmp_path)


@pytest.mark.parametrize("change", [{"hidden_activation": "no such"}, {"layer_types": ["no such"] * 4}, {"norm_bias": "perhaps"}])
def test_a_config_that_transformers_cannot_read_is_a_sentence(tmp_path, change):
    save(tmp_path, **change)
    with pytest.raises(ModelError, match="transformers cannot build a ModernBERT from .*config.json"):
        load(tmp_path)


def test_an_adapter_is_refused(tmp_path):
    save(tmp_path)
    with pytest.raises(ModelError, match="modernbert takes no adapter"):
        load(tmp_path, adapter=tmp_path)


def test_progress_reaches_the_end(tmp_path):
    model, told = save(tmp_path), []
    load(tmp_path, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (sum(value.nbytes for value in dict(model.named_parameters()).values()),) * 2
