"""Loading: adapters merge as they should, checkpoints round-trip, whatever is wrong is said by name."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from lopa_core.model.checkpoint import export, load
from lopa_core.model.errors import ModelError

from ..helpers.models import MODELS, dream_config, llada_config, random_network, random_tensors, write_checkpoint

Q = "model.layers.1.self_attn.q_proj.weight"


@pytest.fixture
def dream(tmp_path):
    """A folder with an ordinary small Dream checkpoint."""
    return write_checkpoint(tmp_path / "dream", dream_config(), random_tensors(dream_config()))


def change_tensors(folder, **changes):
    """Rewrite the weights with some keys replaced; None drops one."""
    tensors = load_file(folder / "model.safetensors") | changes
    save_file({key: value for key, value in tensors.items() if value is not None}, folder / "model.safetensors")


def write_adapter(folder, *, shapes=None, infix="", rank=4, **config):
    """A LoRA folder; shapes: {weight key: (A's shape, B's shape)}."""
    folder.mkdir(exist_ok=True)
    generator = torch.Generator().manual_seed(7)
    tensors = {}
    for key, pair in (shapes or {Q: ((rank, 36), (36, rank))}).items():
        for name, shape in zip("AB", pair):
            tensors[f"base_model.model.{key.removesuffix('.weight')}.lora_{name}{infix}.weight"] = torch.randn(shape, generator=generator)
    save_file(tensors, folder / "adapter_model.safetensors")
    settings = {"peft_type": "LORA", "r": rank, "lora_alpha": 10, "bias": "none"} | config
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    return folder


def difference(folder, adapter, **how):
    """What the adapter changed in layer 1's q_proj."""
    name = "layers.1.attention.qkv.weight"
    return (load(folder, adapter=adapter, **how).get_parameter(name) - load(folder, **how).get_parameter(name))[:36]


@pytest.mark.parametrize(("rslora", "scale"), [(False, 10 / 4), (True, 10 / 2)])
@pytest.mark.parametrize("infix", ["", ".default"])
def test_lora_adds_scale_times_b_a(dream, tmp_path, rslora, scale, infix):
    adapter = write_adapter(tmp_path / "lora", infix=infix, use_rslora=rslora)
    pair = {key.split(".")[-2 - bool(infix)]: value for key, value in load_file(adapter / "adapter_model.safetensors").items()}
    torch.testing.assert_close(difference(dream, adapter), scale * pair["lora_B"] @ pair["lora_A"], rtol=0, atol=1e-5)


def test_lora_is_merged_before_the_cast(dream, tmp_path):
    adapter = write_adapter(tmp_path / "lora")
    merged = load(dream, adapter=adapter).get_parameter("layers.1.attention.qkv.weight")
    cast = load(dream, adapter=adapter, dtype=torch.bfloat16).get_parameter("layers.1.attention.qkv.weight")
    assert torch.equal(cast, merged.bfloat16())


@pytest.mark.parametrize("name", ["dream-a", "dream-b", "llada-a"])
def test_official_adapters_change_exactly_the_attention_matrices(name):
    plain, merged = (load(MODELS / name, adapter=adapter) for adapter in (None, MODELS / f"{name}-lora"))
    changed = {key for key, value in plain.named_parameters() if not torch.equal(value, merged.get_parameter(key))}
    assert changed == {f"layers.{layer}.attention.{part}.weight" for layer in (0, 1) for part in ("qkv", "out")}


@pytest.mark.parametrize(
    "raw",
    [dream_config(), dream_config(tie_word_embeddings=True), llada_config(), llada_config(include_qkv_bias=True, weight_tying=True)],
    ids=["dream", "dream tied", "llada", "llada tied with bias"],
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


@pytest.mark.parametrize("text", ["[]", "{}", '{"weight_map": []}', '{"weight_map": null}', "{"])
def test_damaged_index_is_named(dream, text):
    (dream / "model.safetensors.index.json").write_text(text)
    with pytest.raises(ModelError, match="model.safetensors.index.json"):
        load(dream)


def test_key_in_two_files_is_named(dream):
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


@pytest.mark.parametrize(
    ("config", "culprit"),
    [
        ({"bias": "all"}, "bias"),
        ({"lora_bias": True}, "bias"),
        ({"use_dora": True}, "DoRA"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
        ({"rank_pattern": {"q_proj": 2}}, "rank or alpha per layer"),
        ({"fan_in_fan_out": True}, "fan_in_fan_out"),
        ({"peft_type": "IA3"}, "not a LoRA adapter"),
        ({"r": 0}, "not a LoRA adapter"),
        ({"lora_alpha": "much"}, "lora"),
    ],
)
def test_adapter_that_cannot_be_merged_is_refused(dream, tmp_path, config, culprit):
    with pytest.raises(ModelError, match=culprit):
        load(dream, adapter=write_adapter(tmp_path / "lora", **config))


@pytest.mark.parametrize(
    "pair",
    [((4, 36), (35, 4)), ((4, 35), (36, 4)), ((4, 36), (36, 5)), ((2, 36), (36, 2)), ((4,), (36, 4))],
    ids=["rows", "columns", "two ranks", "not the config's rank", "a vector"],
)
def test_adapter_of_the_wrong_shape_is_named(dream, tmp_path, pair):
    adapter = write_adapter(tmp_path / "lora", shapes={Q: pair})
    with pytest.raises(ModelError, match=Q):
        load(dream, adapter=adapter)


def test_adapter_for_another_model_is_named(dream):
    with pytest.raises(ModelError, match="do not fit"):
        load(dream, adapter=MODELS / "dream-a-lora")
    deeper = "model.layers.7.self_attn.q_proj.weight"
    adapter = write_adapter(dream.parent / "lora", shapes={deeper: ((4, 36), (36, 4))})
    with pytest.raises(ModelError, match=f"{deeper}.*belong together"):
        load(dream, adapter=adapter)


def test_adapter_with_a_lone_or_foreign_matrix_is_named(dream, tmp_path):
    adapter = write_adapter(tmp_path / "lora")
    path = adapter / "adapter_model.safetensors"
    pair = load_file(path)
    save_file({key: value for key, value in pair.items() if "lora_A" in key}, path)
    with pytest.raises(ModelError, match=f"lacks one of the two matrices for {Q}"):
        load(dream, adapter=adapter)
    save_file(pair | {"base_model.model.lm_head.weight": torch.zeros(2, 2)}, path)
    with pytest.raises(ModelError, match="base_model.model.lm_head.weight"):
        load(dream, adapter=adapter)


@pytest.mark.parametrize("name", ["adapter_config.json", "adapter_model.safetensors"])
def test_missing_or_damaged_adapter_file_is_named(dream, tmp_path, name):
    adapter = write_adapter(tmp_path / "lora")
    for damage in (b"\xff\xfe", b"[]", None):
        (adapter / name).unlink() if damage is None else (adapter / name).write_bytes(damage)
        with pytest.raises(ModelError, match=name.split(".")[0]):
            load(dream, adapter=adapter)


def test_quantised_weights_are_refused(dream):
    tensors = load_file(dream / "model.safetensors")
    tensors[Q] = tensors[Q].to(torch.int8)
    save_file(tensors, dream / "model.safetensors")
    with pytest.raises(ModelError, match=f"{Q} is stored as int8"):
        load(dream)
