"""Special tokens by name, from every kind of file a tokenizer comes in."""

import json
import shutil

import pytest

from lopa_core.model.errors import ModelError
from lopa_core.model.presets import DEFAULT, PRESETS
from lopa_core.model.special import SpecialTokens, special_tokens
from lopa_core.model.token_files import TokenizerFiles

from ..helpers.vocabularies import CHATML, LLADA, entry, merges_folder, whole_folder, write

CONFIG, MAP, ADDED, WHOLE = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "tokenizer.json"


def test_a_folder_without_tokenizer_tells_nothing(tmp_path):
    assert special_tokens(tmp_path) == SpecialTokens(mask=None, bos=None, eos=None, pad=None, eot=None, ids={})


def test_a_name_alone_tells_no_id(tmp_path):
    write(tmp_path, CONFIG, {"mask_token": "<m>", "eos_token": "</s>"})
    assert special_tokens(tmp_path) == SpecialTokens()


def test_dream_s_layout_is_read(tmp_path):
    tokens = special_tokens(merges_folder(tmp_path, first=700))
    ids = {text: 700 + place for place, text in enumerate(CHATML)}
    assert tokens == SpecialTokens(mask=704, bos=703, eos=700, pad=700, eot=702, ids=ids)


def test_the_embedded_model_s_are_read():
    tokens = special_tokens(PRESETS[DEFAULT].folder)
    assert (tokens.mask, tokens.eos, tokens.pad, tokens.bos, tokens.eot) == (1, 0, 0, None, None)
    assert set(tokens.ids) == {"<|endoftext|>", "<|mask|>"}


def test_a_mask_without_the_role_is_known_by_its_name(tmp_path):
    tokens = special_tokens(whole_folder(tmp_path, LLADA, bos_token="<|startoftext|>", eos_token="<|endoftext|>"))
    assert tokens.mask == tokens.ids["<|mdm_mask|>"] and tokens.eot == tokens.ids["<|eot_id|>"]
    write(tmp_path, CONFIG, {"mask_token": {"content": "<|eot_id|>", "special": True}})
    assert special_tokens(tmp_path).mask == tokens.eot  # the role counts more than any name


def test_legacy_files_are_enough(tmp_path):
    write(tmp_path, MAP, {"mask_token": {"content": "<m>"}, "eos_token": "</s>", "additional_special_tokens": ["<|im_end|>", entry("<x>")]})
    write(tmp_path, ADDED, {"<m>": 9, "<|im_end|>": 10, "<tool>": 11, "<x>": 12})
    write(tmp_path, "vocab.json", {"a": 0, "</s>": 1})
    assert special_tokens(tmp_path) == SpecialTokens(mask=9, eos=1, eot=10, ids={"<m>": 9, "</s>": 1, "<|im_end|>": 10, "<x>": 12})


@pytest.mark.parametrize("vocabulary", [{"a": 0, "[MASK]": 1}, [["a", 0.0], ["[MASK]", -1.5]]])
def test_a_role_s_token_may_lie_in_the_vocabulary(tmp_path, vocabulary):
    write(tmp_path, WHOLE, {"added_tokens": [], "model": {"vocab": vocabulary}})
    write(tmp_path, CONFIG, {"mask_token": "[MASK]", "eos_token": "</s>"})
    assert special_tokens(tmp_path) == SpecialTokens(mask=1, ids={"[MASK]": 1})


def test_files_may_disagree_about_padding_alone(tmp_path):
    write(tmp_path, CONFIG, {"pad_token": "<a>", "added_tokens_decoder": {"5": entry("<a>"), "6": entry("<b>")}})
    write(tmp_path, MAP, {"pad_token": "<b>"})
    assert special_tokens(tmp_path).pad == 5
    write(tmp_path, MAP, {"eos_token": "<b>", "pad_token": "<b>"})
    assert special_tokens(tmp_path).eos == 6


@pytest.mark.parametrize("empty", ["", {"content": ""}, None])
@pytest.mark.parametrize("role", ["bos_token", "eos_token", "unk_token", "pad_token", "mask_token"])
def test_an_empty_token_is_none(tmp_path, role, empty):
    added = {"added_tokens_decoder": {"5": entry("<a>"), "6": entry("")}, "additional_special_tokens": ["", "<a>"]}
    write(tmp_path, CONFIG, added | {role: empty})
    write(tmp_path, ADDED, {"": 7})
    assert special_tokens(tmp_path) == SpecialTokens(ids={"<a>": 5})
    write(tmp_path, MAP, {role: "<a>"})  # an empty one contradicts nothing
    assert "<a>" in special_tokens(tmp_path).ids and TokenizerFiles(tmp_path).names == {role: "<a>"}


def test_several_files_may_name_several_ends(tmp_path):
    write(tmp_path, CONFIG, {"eos_token": "<a>", "added_tokens_decoder": {"5": entry("<a>"), "6": entry("<b>", special=False)}})
    write(tmp_path, MAP, {"eos_token": {"content": "<b>"}})
    tokens = special_tokens(tmp_path)
    assert (tokens.eos, tokens.more_ends, tokens.ends) == (5, (6,), (5, 6)) and tokens.ids == {"<a>": 5, "<b>": 6}
    write(tmp_path, MAP, {"eos_token": "<a>"})
    assert special_tokens(tmp_path).ends == (5,)


A, B = entry("<a>"), entry("<b>")
WRONG = {
    "two masks": ({CONFIG: {"mask_token": "<a>", "added_tokens_decoder": {"5": A, "6": B}}, MAP: {"mask_token": "<b>"}}, "'<a>' in"),
    "two begins": ({CONFIG: {"bos_token": "<a>"}, MAP: {"bos_token": {"content": "<b>"}}}, "bos_token"),
    "two ids": ({CONFIG: {"added_tokens_decoder": {"5": A}}, ADDED: {"<a>": 6}}, "contradicts itself"),
    "two texts": ({CONFIG: {"added_tokens_decoder": {"5": A}}, WHOLE: {"added_tokens": [B | {"id": 5}]}}, "contradicts itself"),
    "two nameless masks": ({ADDED: {"<|mask|>": 4, "<|MASK|>": 5}}, "several mask tokens"),
    "a mask outside the added tokens": ({CONFIG: {"mask_token": "<m>", "added_tokens_decoder": {"5": A}}}, "'<m>' is in none"),
    "a mask outside the vocabulary": ({CONFIG: {"mask_token": "<m>"}, "vocab.json": {"a": 0}}, "'<m>' is in none"),
    "a token that is a number": ({CONFIG: {"eos_token": 7}}, "eos_token must be a text"),
    "a token without content": ({CONFIG: {"eos_token": {"special": True}}}, "eos_token must be a text"),
    "a token that is false": ({CONFIG: {"mask_token": False}}, "mask_token must be a text"),
    "a decoder that is a list": ({CONFIG: {"added_tokens_decoder": [A]}}, "JSON object"),
    "an id that is none": ({CONFIG: {"added_tokens_decoder": {"five": A}}}, "whole number"),
    "an id below 0": ({ADDED: {"<a>": -1}}, "whole number"),
    "an id that is true": ({ADDED: {"<a>": True}}, "whole number"),
    "no id": ({WHOLE: {"added_tokens": [A]}}, "whole number"),
    "flags that are none": ({CONFIG: {"added_tokens_decoder": {"5": A | {"special": "yes"}}}}, "added token"),
    "a token that is a text": ({WHOLE: {"added_tokens": ["<a>"]}}, "added token"),
    "a model that is a list": ({WHOLE: {"model": [1]}, CONFIG: {"mask_token": "<m>"}}, "JSON object"),
    "a vocabulary that is a text": ({WHOLE: {"model": {"vocab": "abc"}}, CONFIG: {"mask_token": "<m>"}}, "vocab must be"),
    "extra tokens that are numbers": ({CONFIG: {"additional_special_tokens": [5]}, ADDED: {"<a>": 1}}, "additional_special_tokens"),
}


@pytest.mark.parametrize("name", WRONG)
def test_contradictions_and_damage_are_a_sentence(tmp_path, name):
    files, words = WRONG[name]
    for file, content in files.items():
        write(tmp_path, file, content)
    with pytest.raises(ModelError, match=words) as told:
        special_tokens(tmp_path)
    assert str(tmp_path) in str(told.value) and "\n" not in str(told.value)


def test_files_that_are_no_json_are_a_sentence(tmp_path):
    (tmp_path / CONFIG).write_text("{", encoding="utf-8")
    with pytest.raises(ModelError, match="not a JSON file"):
        special_tokens(tmp_path)
    (tmp_path / CONFIG).write_text(json.dumps([1]), encoding="utf-8")
    with pytest.raises(ModelError, match="JSON object"):
        special_tokens(tmp_path)


def test_what_the_whole_and_the_config_say_agrees_for_real_files(tmp_path):
    """tokenizer.json and the added_tokens_decoder of one tokenizer hold the same tokens twice."""
    shutil.copy(PRESETS[DEFAULT].folder / WHOLE, tmp_path)
    whole = json.loads((tmp_path / WHOLE).read_text(encoding="utf-8"))
    decoder = {str(token.pop("id")): token for token in whole["added_tokens"]}
    write(tmp_path, CONFIG, {"mask_token": "<|mask|>", "added_tokens_decoder": decoder})
    assert special_tokens(tmp_path).ids == {"<|endoftext|>": 0, "<|mask|>": 1}
