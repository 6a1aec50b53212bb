"""What a model's name means: a folder, an entry of the catalogue, a repository of the Hub."""

from __future__ import annotations

import pytest

from lopa_core.model.errors import ModelError
from lopa_core.model.presets import CATALOGUE, DEFAULT, PRESETS
from lopa_core.model.source import read_source

from ..helpers.models import MODELS, dream_config, random_tensors, write_checkpoint

DREAM, LORA = "Dream-org/Dream-v0-Instruct-7B", "SJTU-DENG-Lab/D2F_Dream_Instruct_7B_Lora"


def test_no_name_is_the_embedded_model():
    source = read_source()
    assert (source.name, source.where) == (DEFAULT, PRESETS[DEFAULT].folder) and source.settings == PRESETS[DEFAULT].settings
    assert read_source(PRESETS[DEFAULT].folder) == source == read_source(DEFAULT)


@pytest.mark.parametrize("key", CATALOGUE)
def test_every_key_names_its_model(key):
    source, preset = read_source(key), CATALOGUE[key]
    assert (source.name, source.where, source.adapter) == (key, preset.folder or preset.hub, preset.adapter)
    assert (source.prompt, source.template_arguments) == (preset.prompt, preset.template_arguments)


def test_a_hub_id_of_the_catalogue_is_that_entry():
    assert read_source(DREAM.upper()) == read_source("dream-instruct")
    assert read_source(DREAM, LORA.lower()) == read_source("dream-instruct-d2f")


def test_an_entry_takes_another_adapter():
    source = read_source("dream-instruct", "some/lora")
    assert (source.name, source.adapter, source.where) == ("dream-instruct+lora", "some/lora", DREAM)
    assert source.settings == CATALOGUE["dream-instruct"].settings


def test_an_unknown_hub_id_is_taken_as_it_is():
    source = read_source("some/model@v1.2", "some/lora")
    assert (source.name, source.where, source.revision, source.adapter) == ("some/model@v1.2", "some/model", "v1.2", "some/lora")
    assert source.settings == {}


def test_a_folder_goes_by_its_name(tmp_path):
    assert (read_source(MODELS / "dream-a").name, read_source(MODELS / "dream-a").settings) == ("dream-a", {})
    twin = write_checkpoint(tmp_path / DEFAULT, dream_config(), random_tensors(dream_config()))
    assert read_source(twin).name == str(twin)


def test_a_folder_tells_how_it_was_trained(tmp_path):
    raw = dream_config(model_type="sdar", block_size=24, head_dim=6, rope_theta=1e4)
    write_checkpoint(tmp_path, raw, {})
    assert read_source(tmp_path).settings == {"attention": "block_causal", "block_size": 24, "max_new_tokens": 144}


@pytest.mark.parametrize(("name", "words"), [("nothing", "no folder 'nothing'"), ("a b/c", "no folder"), ("dream-instruc", "did you mean")])
def test_what_names_nothing_is_a_sentence(name, words):
    with pytest.raises(ModelError, match=words):
        read_source(name)


def test_a_checkpoint_on_this_machine_is_fetched_without_a_network():
    checkpoint = read_source().fetch()
    assert checkpoint.folder == PRESETS[DEFAULT].folder and checkpoint.commit is None and checkpoint.adapter is None
    assert checkpoint.config().family == "dream" and checkpoint.tokenizer() is not None
    assert read_source(MODELS / "dream-a", MODELS / "dream-a-lora").fetch().adapter == MODELS / "dream-a-lora"
    assert read_source(MODELS / "dream-a").fetch().tokenizer() is None
