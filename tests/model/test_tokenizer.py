"""Tokenizers from files: the checkpoint's template, display pieces, and damage said in a sentence."""

import json
import shutil

import pytest

from lopa_core.model.errors import ModelError
from lopa_core.model.presets import DEFAULT, PRESETS
from lopa_core.model.tokenizer import Tokenizer


@pytest.fixture
def folder(tmp_path):
    """A folder with the embedded model's tokenizer."""
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(PRESETS[DEFAULT].folder / name, tmp_path)
    return tmp_path


def with_config(folder, **config) -> Tokenizer:
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return Tokenizer(folder)


def test_templates_may_name_special_tokens_and_roles(folder):
    template = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{{ eos_token }}"
    tokenizer = with_config(folder, chat_template=template, bos_token={"content": "<s>"}, eos_token="</s>")
    assert tokenizer.render("hi") == "<s><user>hi</s>"


def test_text_without_a_template_is_the_prompt(folder):
    assert with_config(folder).render("hi") == "hi"
    (folder / "tokenizer_config.json").unlink()
    assert Tokenizer(folder).render("hi") == "hi"


@pytest.mark.parametrize("template", ["{% if %}", "{{ 1 / 0 }}", "{{ x.y.z }}", 5])
def test_a_damaged_template_is_said(folder, template):
    with pytest.raises(ModelError, match="template"):
        with_config(folder, chat_template=template).render("hi")


def test_templates_cannot_reach_the_machine(folder):
    template = "{{ messages.__class__.__mro__[1].__subclasses__() }}"
    with pytest.raises(ModelError, match="template"):
        with_config(folder, chat_template=template).render("hi")


def test_pieces_are_text_and_parts_of_characters_are_marked(folder):
    tokenizer = Tokenizer(folder)
    ids = tokenizer.backend.encode("pens 🦜").ids
    assert tokenizer.piece(ids[0]).startswith("p")
    assert tokenizer.piece(ids[-1]).startswith("⟨") and "\ufffd" not in "".join(map(tokenizer.piece, ids))
    assert tokenizer.piece(tokenizer.backend.token_to_id("<|mask|>")) == "<|mask|>"


def test_a_damaged_tokenizer_is_said(folder):
    (folder / "tokenizer.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelError, match="tokenizer.json"):
        Tokenizer(folder)
    (folder / "tokenizer_config.json").write_bytes(b"\xff")
    with pytest.raises(ModelError, match=r"tokenizer(_config)?\.json"):
        Tokenizer(folder)
