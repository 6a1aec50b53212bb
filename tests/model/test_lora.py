"""peft LoRA adapters: merged they are what peft would apply beside the weights; whatever cannot be merged is refused."""

import json

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from lopa_core.model.checkpoint import load
from lopa_core.model.errors import ModelError

from ..helpers.models import MODELS, dream_config, llada_config, random_tensors, write_checkpoint

Q = "model.layers.1.self_attn.q_proj.weight"
# the targets of D2F's adapters: where they lie, and the rows of each
TARGETS = {
    "dream": ("model.layers.{}.self_attn.{}.weight", {"q_proj": 36, "k_proj": 12, "v_proj": 12, "o_proj": 36}),
    "llada": ("model.transformer.blocks.{}.{}.weight", {"q_proj": 36, "k_proj": 12, "v_proj": 12, "attn_out": 36}),
}


@pytest.fixture
def dream(tmp_path):
    """A folder with an ordinary small Dream checkpoint."""
    return write_checkpoint(tmp_path / "dream", dream_config(), random_tensors(dream_config()))


def write_adapter(folder, *, shapes=None, infix="", rank=4, dtype=torch.float32, **config):
    """A LoRA folder; shapes: {weight key: (A's shape, B's shape)}."""
    folder.mkdir(exist_ok=True)
    generator = torch.Generator().manual_seed(7)
    tensors = {}
    for key, pair in (shapes or {Q: ((rank, 36), (36, rank))}).items():
        for name, shape in zip("AB", pair):
            value = torch.randn(shape, generator=generator, dtype=dtype)
            tensors[f"base_model.model.{key.removesuffix('.weight')}.lora_{name}{infix}.weight"] = value
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


@pytest.mark.parametrize(("family", "raw"), [("dream", dream_config()), ("llada", llada_config())])
def test_merged_is_what_applying_it_beside_the_weights_gives(family, raw, tmp_path):
    """peft adds scale B (A x) to the output of each target; in fp64, so that the two ways may not differ."""
    folder = write_checkpoint(tmp_path / family, raw, {key: value.double() for key, value in random_tensors(raw).items()})
    pattern, sizes = TARGETS[family]
    changed = {(layer, name): pattern.format(layer, name) for layer in range(3) for name in sizes}
    shapes = {key: ((4, 36), (sizes[name], 4)) for (_, name), key in changed.items()}
    adapter = write_adapter(tmp_path / "lora", shapes=shapes, dtype=torch.float64, lora_alpha=1)
    plain, merged = load(folder, dtype=torch.float64), load(folder, adapter=adapter, dtype=torch.float64)
    matrices = load_file(adapter / "adapter_model.safetensors")
    for (layer, name), key in changed.items():
        down, up = (matrices[f"base_model.model.{key.removesuffix('.weight')}.lora_{each}.weight"] for each in "AB")
        beside(plain.layers[layer].attention, name, down, up / 4)
    tokens = torch.randint(0, 61, (2, 17), generator=torch.Generator().manual_seed(3))
    logits = merged.head(merged(tokens))
    torch.testing.assert_close(plain.head(plain(tokens)), logits, rtol=0, atol=1e-11)
    assert (load(folder, dtype=torch.float64)(tokens) - merged(tokens)).abs().max() > 0.1


def beside(attention, name, down, up):
    """Let a projection of `attention` add up (down x) to its part of the output."""
    rows = {"q_proj": slice(0, 36), "k_proj": slice(36, 48), "v_proj": slice(48, 60)}.get(name, slice(0, 36))
    linear = attention.qkv if name in ("q_proj", "k_proj", "v_proj") else attention.out

    def add(_, inputs, output):
        output[..., rows] += F.linear(F.linear(inputs[0], down), up)
        return output

    linear.register_forward_hook(add)


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
    ("config", "culprit"),
    [
        ({"bias": "all"}, "bias"),
        ({"lora_bias": True}, "bias"),
        ({"use_dora": True}, "DoRA"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
        ({"rank_pattern": {"q_proj": 2}}, "rank or alpha per layer"),
        ({"fan_in_fan_out": True}, "fan_in_fan_out"),
        ({"trainable_token_indices": [5]}, "trainable tokens"),
        ({"init_lora_weights": "pissa_niter_4"}, "pissa_niter_4, which changes the base"),
        ({"peft_type": "IA3"}, "not a LoRA adapter.*'IA3'"),
        ({"peft_type": "ADALORA"}, "not a LoRA adapter.*'ADALORA'"),
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
