"""What is known of a checkpoint follows from its files: the same for a folder, a Hub id, a revision and another organisation."""

import json

import pytest

from lopa_core.__main__ import main
from lopa_core.decode.settings import DecodeSettings
from lopa_core.model import hub as hub_module
from lopa_core.model.family import parse_config
from lopa_core.model.presets import CATALOGUE
from lopa_core.model.source import read_source

from ..helpers.models import dream_config, llama_config, qwen2_config, qwen3_config, random_tensors, write_checkpoint
from ..helpers.vocabularies import CHATML, whole_folder

QWEN3 = "{{ prompt }}{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% endif %}"


def checkpoint(folder, **changes):
    raw = qwen3_config(**changes)
    return write_checkpoint(folder, raw, random_tensors(raw))


def facts(source):
    return dict(source.settings), source.prompt, dict(source.template_arguments), source.notices


@pytest.mark.parametrize(
    ("changes", "settings"),
    [
        ({"model_type": "sdar", "block_size": 4}, {"attention": "block_causal", "block_size": 4, "max_new_tokens": 128}),
        ({"model_type": "sdar", "block_size": 24}, {"attention": "block_causal", "block_size": 24, "max_new_tokens": 144}),
        ({"model_type": "sdar"}, {"attention": "block_causal", "block_size": 4, "max_new_tokens": 128}),
        ({"model_type": "a2d-qwen3"}, {}),
        ({"model_type": "qwen3"}, {}),
    ],
)
def test_a_hub_id_is_read_as_the_folder_is(hub, tmp_path, changes, settings):
    folder = checkpoint(tmp_path / "here", **changes)
    for name in ("some/model", "other-org/model"):
        hub.add(name, folder)
        hub.add(name, folder, revision="v1")
    here = read_source(folder)
    assert dict(here.settings) == settings and DecodeSettings(**here.settings)
    for name in ("some/model", "some/model@v1", "other-org/model"):
        settled = read_source(name).settle()
        assert facts(settled) == facts(here)
        assert not [path for _, path in hub.requests if path.endswith(".safetensors")]  # before its weights are loaded
    assert facts(read_source("some/model").fetch().source) == facts(here.fetch().source) == facts(here)
    assert settled.revision == hub_module.find("other-org/model", weights=False).commit


def test_thinking_is_switched_off_wherever_the_checkpoint_lies(hub, tmp_path):
    folder = checkpoint(tmp_path / "here", model_type="a2d-qwen3", mask_token_id=491, vocab_size=600)
    whole_folder(folder, CHATML, chat_template=QWEN3, mask_token="<|mask|>")
    hub.add("some/qwen", folder)
    hub.add("some/qwen", folder, revision="v1")
    for name in (folder, "some/qwen", "some/qwen@v1"):
        assert read_source(name).fetch().tokenizer().render("hi") == "hi<think></think>"


@pytest.mark.parametrize("key", ["dream-base", "llada", "sdar-1-7b", "qwen3-mdlm", "modernbert-base"])
def test_an_entry_of_the_catalogue_at_a_revision_is_that_entry(key):
    preset = CATALOGUE[key]
    for name in (f"{preset.hub}@v1", f"{key}@v1"):
        source = read_source(name)
        assert (source.name, source.where, source.revision) == (name, preset.hub, "v1")
        assert (source.settings, source.prompt, source.notices) == (preset.settings, preset.prompt, ())


def test_a_copy_of_another_organisation_or_in_a_folder_is_known_by_its_name(tmp_path):
    preset = CATALOGUE["dream-base"]
    write_checkpoint(tmp_path / "Dream-v0-Base-7B", dream_config(), {})
    snapshot = tmp_path / "models--org--Dream-v0-Base-7B" / "snapshots" / ("0" * 40)
    write_checkpoint(snapshot, dream_config(), {})
    for name in ("new-org/Dream-v0-Base-7B", "new-org/Dream-v0-Base-7B@v1", tmp_path / "Dream-v0-Base-7B", snapshot):
        source = read_source(name)
        assert (dict(source.settings), source.prompt) == (preset.settings, "plain+bos")
        assert len(source.notices) == 1 and "Dream 7B Base" in source.notices[0]
    assert source.name == "Dream-v0-Base-7B"


def test_config_json_counts_more_than_a_name(tmp_path):
    source = read_source(checkpoint(tmp_path / "SDAR-1.7B-Chat-b32", model_type="sdar", block_size=24))
    assert (source.settings["block_size"], source.settings["max_new_tokens"]) == (24, 264)
    assert "config.json says block_size = 24, which counts more than the catalogue's 32." in source.notices
    silent = read_source(checkpoint(tmp_path / "b" / "SDAR-1.7B-Chat-b32", model_type="sdar"))
    assert silent.settings["block_size"] == 32 and not any("is assumed" in notice for notice in silent.notices)


@pytest.mark.parametrize("make", [qwen2_config, qwen3_config, llama_config])
def test_a_plain_type_says_which_alignment_is_assumed(tmp_path, make):
    folder = write_checkpoint(tmp_path, make(), {})
    kind = make()["model_type"]
    first, second = read_source(folder).notices
    assert first.startswith(f"A {kind} checkpoint does not tell which slot a row predicts: its own is assumed") and "--shifted" in first
    assert "full attention is assumed" in second
    for shifted in (True, False):
        source = read_source(folder, shifted=shifted)
        assert source.notices == (second,) and source.fetch().config().shifted is shifted


def test_what_a_checkpoint_tells_is_not_assumed(tmp_path):
    assert read_source(write_checkpoint(tmp_path, dream_config(), {})).notices == ()
    assert parse_config(dream_config()).assumed == parse_config(qwen3_config(model_type="sdar", block_size=4)).assumed == ()
    (notice,) = read_source(checkpoint(tmp_path / "sdar", model_type="sdar")).notices
    assert notice.startswith("config.json names no block_size: 4 is assumed")
    (notice,) = read_source(checkpoint(tmp_path / "a2d", model_type="a2d-qwen3")).notices
    assert "full attention is assumed" in notice


def test_the_catalogue_agrees_with_the_families(hub, tmp_path):
    """An entry's settings need no notice once its config.json is here."""
    folder = checkpoint(tmp_path / "qwen", model_type="a2d-qwen3")
    hub.add(CATALOGUE["qwen3-mdlm"].hub, folder)
    source = read_source("qwen3-mdlm").settle()
    assert source.notices == () and source.settings == CATALOGUE["qwen3-mdlm"].settings
    assert source.template_arguments == {"enable_thinking": False}


def test_a_hub_id_decodes_as_the_folder_does(hub, tmp_path, capsys):
    folder = checkpoint(tmp_path / "here", model_type="sdar", block_size=4)
    hub.add("some/model", folder)
    texts = []
    for name in (folder, "some/model", "some/model@main"):
        assert main(["decode", "--model", str(name), "--prompt-ids", "5,17,3,44,8", "--max-new-tokens", "20", "--json"]) == 0
        texts.append(json.loads(capsys.readouterr().out)["ids"])
    assert texts[0] == texts[1] == texts[2]
    args = ["decode", "--model", "some/model", "--prompt-ids", "5", "--max-new-tokens", "18"]
    assert main(args) == 2 and "whole number of blocks of 4" in capsys.readouterr().err
