"""Loading: checkpoints round-trip, take no more room than they must, whatever is wrong is said by name."""

import json
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from lopa_core.model import weights
from lopa_core.model.checkpoint import export, load
from lopa_core.model.errors import ModelError

from ..helpers.models import dream_config, llada_config, qwen3_config, random_network, random_tensors, write_checkpoint
from . import bench_loading

Q = "model.layers.1.self_attn.q_proj.weight"


@pytest.fixture
def dream(tmp_path):
    """A folder with an ordinary small Dream checkpoint."""
    return write_checkpoint(tmp_path / "dream", dream_config(), random_tensors(dream_config()))


def change_tensors(folder, **changes):
    """Rewrite the weights with some keys replaced; None drops one."""
    tensors = load_file(folder / "model.safetensors") | changes
    save_file({key: value for key, value in tensors.items() if value is not None}, folder / "model.safetensors")


@pytest.mark.parametrize(
    "raw",
    [
        dream_config(),
        dream_config(tie_word_embeddings=True),
        qwen3_config(),
        llada_config(),
        llada_config(include_qkv_bias=True, weight_tying=True),
    ],
    ids=["dream", "dream tied", "qwen3", "llada", "llada tied with bias"],
)
def test_exported_checkpoint_loads_as_the_same_network(raw, tmp_path):
    network = random_network(raw, dtype=torch.float32)
    export(network, tmp_path / "out", raw, dtype=torch.float32)
    assert set(load_file(tmp_path / "out" / "model.safetensors")) == set(random_tensors(raw))
    again = load(tmp_path / "out")
    assert again.config == network.config
    for name, value in network.named_parameters():
        assert torch.equal(again.get_parameter(name), value), name


def test_tied_head_is_the_embedding_even_if_the_file_stores_it_twice(tmp_path):
    raw = dream_config(tie_word_embeddings=True)
    tensors = random_tensors(raw)
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].clone()
    network = load(write_checkpoint(tmp_path, raw, tensors))
    assert network.head.weight is network.embed.weight


def shard(folder):
    """Split a checkpoint in two with the index that the Hub has."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = {key: f"model-0000{1 + (number % 2)}-of-00002.safetensors" for number, key in enumerate(sorted(tensors))}
    for file in set(names.values()):
        save_file({key: value for key, value in tensors.items() if names[key] == file}, folder / file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": names}))


def test_sharded_checkpoint_loads_as_the_whole_one(dream):
    whole = load(dream)
    shard(dream)
    sharded = load(dream)
    for name, value in whole.named_parameters():
        assert torch.equal(sharded.get_parameter(name), value), name


def test_missing_shard_is_named(dream):
    shard(dream)
    (dream / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ModelError, match="model-00002-of-00002.safetensors"):
        load(dream)


def test_truncated_shard_is_named_before_anything_is_read(dream, monkeypatch):
    shard(dream)
    path = dream / "model-00002-of-00002.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    monkeypatch.setattr(weights.Reader, "fill", None)
    with pytest.raises(ModelError, match=f"{path.name} is damaged or cut short"):
        load(dream)


@pytest.mark.parametrize("text", ["[]", "{}", '{"weight_map": []}', '{"weight_map": null}', "{"])
def test_damaged_index_is_named(dream, text):
    (dream / "model.safetensors.index.json").write_text(text)
    with pytest.raises(ModelError, match="model.safetensors.index.json"):
        load(dream)


def test_key_in_two_files_is_named(dream):
    (dream / "model.safetensors").rename(dream / "weights.safetensors")  # neither the usual name nor an index says which counts
    save_file({Q: torch.zeros(36, 36)}, dream / "more.safetensors")
    with pytest.raises(ModelError, match=f"{Q} a second time"):
        load(dream)


def test_missing_key_is_named(dream):
    change_tensors(dream, **{Q: None})
    with pytest.raises(ModelError, match=f"lacks {Q}"):
        load(dream)


@pytest.mark.parametrize("tied", [False, True])
def test_extra_key_is_named(tmp_path, tied):
    raw, extra = dream_config(tie_word_embeddings=tied), "model.layers.1.self_attn.sinks"
    with pytest.raises(ModelError, match=extra):
        load(write_checkpoint(tmp_path, raw, random_tensors(raw) | {extra: torch.zeros(6)}))


@pytest.mark.parametrize("shape", [(35, 36), (36, 35), (36,), (37, 36)])
def test_misshaped_key_is_named(dream, shape):
    change_tensors(dream, **{Q: torch.zeros(shape)})
    with pytest.raises(ModelError, match=Q):
        load(dream)


def test_parts_of_the_wrong_shape_are_refused_even_if_their_sum_fits(dream):
    """Stacked into one matrix, a query part that is too long and a key part that is too short fill it exactly."""
    key = Q.replace("q_proj", "k_proj")
    change_tensors(dream, **{Q: torch.zeros(40, 36), key: torch.zeros(8, 36)})
    with pytest.raises(ModelError, match="_proj"):
        load(dream)


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_truncated_file_is_named(dream, keep):
    path = dream / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelError, match="model.safetensors is damaged"):
        load(dream)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pth"])
def test_pickle_is_named_and_never_read(dream, name):
    (dream / "model.safetensors").unlink()
    torch.save({}, dream / name)
    with pytest.raises(ModelError, match=f"{name} is a pickle"):
        load(dream)


def test_folder_without_weights_is_named(dream):
    (dream / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=f"{dream} holds no .safetensors"):
        load(dream)


@pytest.mark.parametrize(("dtype", "told"), [(torch.int8, "I8"), (torch.uint8, "U8"), (torch.float8_e4m3fn, "fp8 F8_E4M3")])
def test_quantised_weights_are_refused(dream, dtype, told):
    tensors = load_file(dream / "model.safetensors")
    change_tensors(dream, **{Q: tensors[Q].to(dtype)})
    with pytest.raises(ModelError, match=f"{Q} is stored as {told}; quantised.*bfloat16"):
        load(dream)


@pytest.mark.parametrize("stored", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("wanted", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("piece", [1, 1000, weights.PIECE])
def test_every_precision_is_read_whole_and_cast_once(tmp_path, monkeypatch, stored, wanted, piece):
    """However small the pieces are that a file is read in."""
    monkeypatch.setattr(weights, "PIECE", piece)
    raw = qwen3_config()
    tensors = {key: value.to(stored) for key, value in random_tensors(raw).items()}
    network = load(write_checkpoint(tmp_path, raw, tensors), dtype=wanted)
    qkv = torch.cat([tensors[f"model.layers.2.self_attn.{part}_proj.weight"] for part in "qkv"])
    assert torch.equal(network.layers[2].attention.qkv.weight, qkv.to(wanted))
    assert torch.equal(network.layers[0].attention.k_norm.weight, tensors["model.layers.0.self_attn.k_norm.weight"].to(wanted))
    assert {value.dtype for value in network.parameters()} == {wanted}


def test_progress_counts_every_byte_of_the_files(dream):
    shard(dream)
    size = sum(value.nbytes for path in dream.glob("*.safetensors") for value in load_file(path).values())
    told = []
    load(dream, dtype=torch.bfloat16, progress=lambda done, total: told.append((done, total)))
    assert {total for _, total in told} == {size} and told[-1][0] == size
    assert all(before < after for (before, _), (after, _) in zip(told, told[1:])) and len(told) > 20


def test_tables_of_cosines_are_harmless(dream):
    change_tensors(dream, **{"model.layers.0.self_attn.rotary_emb.inv_freq": torch.zeros(3)})
    load(dream)


def test_file_that_shrinks_while_it_is_read_is_named(dream):
    found = weights.stored(dream)
    reader = weights.Reader(found, {Q: (36, 36)})
    path = dream / "model.safetensors"
    path.write_bytes(path.read_bytes()[: found[Q].start + 100])
    with pytest.raises(ModelError, match="model.safetensors has become shorter"):
        reader.fill(torch.empty(36, 36), Q, None)


@pytest.mark.parametrize(
    ("dtype", "advice"), [(torch.float32, "--dtype bfloat16 .* or a smaller model"), (torch.bfloat16, "take a smaller")]
)
def test_device_without_room_is_said_with_what_is_needed(dream, monkeypatch, dtype, advice):
    allocate = torch.empty

    def too_much(*shape, **how):  # so that the error is the allocator's own
        return allocate(*([2**50] if how.get("device") == torch.device("cpu") else shape), **how)

    monkeypatch.setattr(torch, "empty", too_much)
    with pytest.raises(ModelError, match=f"dream needs about .*B in {str(dtype)[6:]}, and cpu has no room.*{advice}"):
        load(dream, dtype=dtype)


def test_other_errors_of_torch_are_not_taken_for_a_lack_of_room(dream, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("something else")

    monkeypatch.setattr(torch, "empty", broken)
    with pytest.raises(RuntimeError, match="something else"):
        load(dream)


def test_nothing_is_allocated_for_a_checkpoint_that_does_not_fit(dream, monkeypatch):
    """A gigabyte that was read in vain would be told late."""
    change_tensors(dream, **{"model.norm.weight": torch.zeros(35)})
    monkeypatch.setattr(weights.Reader, "fill", None)
    with pytest.raises(ModelError, match="model.norm.weight has shape"):
        load(dream)


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux tells of a process")
def test_loading_takes_little_more_room_than_the_network(tmp_path):
    """In a process of its own, as Linux counts: the bound is 15 % at 300 MB; here it is wider, for what torch takes once."""
    size = bench_loading.write_random(tmp_path, 60e6, torch.bfloat16)
    peak, _ = bench_loading.measure(tmp_path, "bfloat16")
    assert 0.9 * size < peak < 1.15 * size + 10e6
