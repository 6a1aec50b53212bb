"""Folders of weights as people have them: sidecars, second copies, stale indexes, adapters, pointers of git-lfs, byte-order marks."""

import json
import shutil
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from lopa_core.model.checkpoint import load
from lopa_core.model.errors import ModelError
from lopa_core.model.lora import read_adapter
from lopa_core.model.tokenizer import Tokenizer

from ..helpers import theirs
from ..helpers.models import MODELS, dream_config, random_tensors, write_checkpoint
from ..helpers.vocabularies import CHATML, merges_folder, whole_folder

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 15231233024\n".format("a" * 64)
HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"
SIDECAR = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X"


@pytest.fixture
def dream(tmp_path):
    return write_checkpoint(tmp_path / "dream", dream_config(), random_tensors(dream_config()))


def shard(folder, *, seed=0, raw=None, **places):
    """Two shards of a checkpoint with this seed beside what is there, and an index; places: more of its entries."""
    tensors = random_tensors(raw or dream_config(), seed)
    found = {key: f"model-0000{1 + number % 2}-of-00002.safetensors" for number, key in enumerate(sorted(tensors))}
    for file in set(found.values()):
        save_file({key: value for key, value in tensors.items() if found[key] == file}, folder / file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": found | places}))
    return tensors


def read(folder):
    """The embedding as it was read, and the notices."""
    network = load(folder)
    return network.embed.weight, network.config.notices


def test_sidecars_are_not_read(dream):
    shard(dream, seed=0)
    (dream / "model.safetensors").unlink()
    for name in ("._model-00001-of-00002.safetensors", "._model.safetensors", "._config.json", ".model.safetensors.swp"):
        (dream / name).write_bytes(SIDECAR)
    (dream / ".hidden.safetensors").write_bytes(SIDECAR)
    assert read(dream)[1] == ()


def test_only_sidecars_are_no_weights(tmp_path):
    folder = write_checkpoint(tmp_path, dream_config(), {})
    (folder / "model.safetensors").rename(folder / "._model.safetensors")
    (folder / "._pytorch_model.bin").write_bytes(SIDECAR)
    with pytest.raises(ModelError, match="holds no .safetensors file.$"):
        load(folder)


def test_of_two_copies_the_whole_one_is_read_as_in_transformers(dream):
    shard(dream, seed=1)
    embedding, notices = read(dream)
    assert torch.equal(embedding, random_tensors(dream_config(), 0)[EMBEDDING])
    assert notices == ("As in transformers, model.safetensors is read, and model-00001-of-00002.safetensors and 1 more beside it not.",)


def test_files_that_the_index_does_not_name_are_not_read(dream):
    wanted = shard(dream, seed=1)
    (dream / "model.safetensors").rename(dream / "consolidated.safetensors")
    embedding, notices = read(dream)
    assert torch.equal(embedding, wanted[EMBEDDING])
    assert notices == ("As in transformers, what model.safetensors.index.json names is read, and consolidated.safetensors beside it not.",)


def test_an_index_says_which_of_two_shards_holds_a_key(dream):
    wanted = shard(dream, seed=1)
    (dream / "model.safetensors").unlink()
    for name in ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"):
        tensors = load_file(dream / name)
        if EMBEDDING not in tensors:
            save_file(tensors | {EMBEDDING: torch.zeros(61, 36)}, dream / name)
    assert torch.equal(read(dream)[0], wanted[EMBEDDING])


@pytest.mark.parametrize("file", ["model-00001-of-00002.safetensors", "model-00003-of-00003.safetensors"])
def test_what_a_stale_index_names_besides_may_be_missing(tmp_path, file):
    raw = dream_config(tie_word_embeddings=True)
    folder = write_checkpoint(tmp_path, raw, {})
    (folder / "model.safetensors").unlink()
    shard(folder, raw=raw, **{HEAD: file})
    network = load(folder)
    assert network.head.weight is network.embed.weight and network.config.notices == ()


def test_what_is_needed_may_not_be_missing(tmp_path):
    raw = dream_config()
    folder = write_checkpoint(tmp_path, raw, {})
    (folder / "model.safetensors").unlink()
    shard(folder, raw=raw | {"tie_word_embeddings": True}, **{HEAD: "model-00003-of-00003.safetensors"})
    with pytest.raises(ModelError, match="incomplete: model-00003-of-00003.safetensors is missing"):
        load(folder)
    for path in folder.glob("*.safetensors"):
        path.unlink()
    with pytest.raises(ModelError, match="none of the files that its model.safetensors.index.json names is there"):
        load(folder)


@pytest.mark.parametrize(
    "name", ["adapter_model.safetensors", "adapter_model-00001-of-00001.safetensors", "pytorch_lora_weights.safetensors"]
)
@pytest.mark.parametrize("layout", ["whole", "shards", "no index"])
def test_an_adapter_beside_a_model_is_left_out(dream, name, layout):
    if layout != "whole":
        shard(dream)
        (dream / "model.safetensors").unlink()
    if layout == "no index":
        (dream / "model.safetensors.index.json").unlink()
    save_file({"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight": torch.zeros(2, 36)}, dream / name)
    assert read(dream)[1] == (f"{name} holds a LoRA adapter, no part of the model, and is left out: --adapter merges one.",)


def test_an_adapter_alone_is_no_model(dream):
    (dream / "model.safetensors").rename(dream / "adapter_model.safetensors")
    with pytest.raises(ModelError, match="holds a LoRA adapter only.*--adapter"):
        load(dream)


@pytest.mark.parametrize(
    "name",
    [
        "model.safetensors",
        "config.json",
        "generation_config.json",
        "model.safetensors.index.json",
        "tokenizer_config.json",
        "tokenizer.json",
    ],
)
def test_a_pointer_of_git_lfs_is_told_by_name(dream, name):
    (dream / name).write_text(POINTER)
    with pytest.raises(ModelError, match=f"{name} is only a git-lfs pointer, not the file itself: run .*git lfs pull"):
        load(dream)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"])
def test_a_tokenizer_s_pointer_is_told_by_name(tmp_path, name):
    (whole_folder(tmp_path, CHATML) / name).write_text(POINTER)
    with pytest.raises(ModelError, match=f"{name} is only a git-lfs pointer"):
        Tokenizer(tmp_path)


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt", "added_tokens.json"])
def test_a_vocabulary_s_pointer_is_told_by_name(tmp_path, name):
    (merges_folder(tmp_path) / name).write_text(POINTER)
    with pytest.raises(ModelError, match=f"{name} is only a git-lfs pointer"):
        Tokenizer(tmp_path)


@pytest.mark.parametrize("name", ["adapter_config.json", "adapter_model.safetensors"])
def test_an_adapter_s_pointer_is_told_by_name(tmp_path, name):
    folder = shutil.copytree(MODELS / "dream-a-lora", tmp_path / "lora")
    folder.chmod(0o755)
    (folder / name).unlink()
    (folder / name).write_text(POINTER)
    with pytest.raises(ModelError, match=f"{name} is only a git-lfs pointer"):
        read_adapter(folder)


def mark(folder, *names):
    """Put a byte-order mark in front of these files."""
    for name in names:
        (folder / name).write_bytes(b"\xef\xbb\xbf" + (folder / name).read_bytes())


def test_byte_order_marks_are_dropped(dream):
    (dream / "generation_config.json").write_text('{"eos_token_id": 58}')
    shard(dream)
    (dream / "model.safetensors").unlink()
    mark(dream, "config.json", "generation_config.json", "model.safetensors.index.json")
    assert load(dream).config.end_ids == (59, 58)


def test_byte_order_marks_of_tokenizers_are_dropped(tmp_path):
    template = "<|im_start|>{{ prompt }}"
    whole = whole_folder(tmp_path / "whole", CHATML)
    (whole / "chat_template.jinja").write_text(template)
    merges = merges_folder(tmp_path / "merges", chat_template=template)
    before = [Tokenizer(folder).encode_prompt("Mia has 12 shells.") for folder in (whole, merges)]
    mark(whole, "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
    mark(merges, "vocab.json", "merges.txt", "tokenizer_config.json")
    assert [Tokenizer(folder).encode_prompt("Mia has 12 shells.") for folder in (whole, merges)] == before


def test_lines_of_merges_may_end_as_on_windows(tmp_path):
    before = Tokenizer(merges_folder(tmp_path)).encode_prompt("Mia has 12 shells.")
    (tmp_path / "merges.txt").write_bytes((tmp_path / "merges.txt").read_bytes().replace(b"\n", b"\r\n"))
    assert Tokenizer(tmp_path).encode_prompt("Mia has 12 shells.") == before


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_head_of_its_own_counts_more_than_what_config_json_says(tmp_path, dtype):
    raw = dream_config(tie_word_embeddings=True)
    tensors = {key: value.to(dtype) for key, value in random_tensors(raw).items()}
    tensors[HEAD] = tensors[EMBEDDING].clone()
    tensors[HEAD][60, 35] += 1
    network = load(write_checkpoint(tmp_path, raw, tensors))
    assert torch.equal(network.head.weight, tensors[HEAD].float()) and not network.config.tied
    assert torch.equal(network.embed.weight, tensors[EMBEDDING].float())
    assert network.config.notices == (
        "config.json ties the head to the embedding, but the weights hold another head: it is used, as in transformers.",
    )


def test_an_encoder_s_head_of_its_own_is_kept_too(tmp_path):
    model = theirs.their_encoder(dtype=torch.float32)
    model.save_pretrained(tmp_path)
    raw = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(raw | {"mask_token_id": 60}))
    tensors = load_file(tmp_path / "model.safetensors")
    save_file(tensors | {"decoder.weight": torch.ones(61, 36)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    mark(tmp_path, "config.json")
    (tmp_path / "._model.safetensors").write_bytes(SIDECAR)
    network = load(tmp_path)
    assert torch.equal(network.model.decoder.weight, torch.ones(61, 36)) and len(network.config.notices) == 1
    assert torch.equal(network.model.get_input_embeddings().weight, model.get_input_embeddings().weight)


@pytest.mark.skipif(sys.platform == "win32", reason="names of files")
def test_names_that_only_look_like_an_adapter_s_are_weights(dream):
    (dream / "model.safetensors").rename(dream / "my_adapter_model.safetensors")
    assert read(dream)[1] == ()
