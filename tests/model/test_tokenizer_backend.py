"""Backends from files: vocab.json and merges.txt agree with transformers' own classes, token for token; damage is a sentence."""

import json

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from transformers import GPT2Tokenizer, Qwen2Tokenizer

from lopa_core.model.backend import has_tokenizer
from lopa_core.model.errors import ModelError
from lopa_core.model.tokenizer import Tokenizer

from ..helpers.models import MODELS
from ..helpers.vocabularies import CHATML, entry, merges_folder, trained, whole_folder, write

TEXTS = [
    "", " ", "Mia has 12345 shells.", "it's I'D WE'LL can't", "a  b   c \t d\n\n\n  e\r\n\r\n", "\u00a0x\u2003y",
    "naïve", "nai\u0308ve e\u0301", "ﬁne Å Ⅷ ½ ²", "日本語のテキスト", "שלום", "🦜🦜👩‍👩‍👧", "def f(x):\n    return x**2  # no",
    "...!!!???", "\x00\x7f", "١٢٣ ⅓", "ǅ", "<|im_start|>user\nhi<|im_end|>\n", "x<|mask|><|mask|> y",
    "<think>\nwhy</think>", "<|im_end", "  <|endoftext|>  ",
]  # fmt: skip
many = hypothesis_settings(max_examples=300, deadline=None, derandomize=True)
fragments = st.lists(
    st.sampled_from([*CHATML, "<think>", " ", "\n", "\r\n", "'s", "12", "e\u0301", "中", "<|", "|>"]) | st.text(max_size=5), max_size=8
)


def pair(folder, ours, theirs):
    """A folder through both libraries, as {text: ids} functions."""
    write(folder, "tokenizer_config.json", json.loads((folder / "tokenizer_config.json").read_text()) | {"tokenizer_class": ours})
    own, other = Tokenizer(folder).backend, theirs.from_pretrained(folder)
    return lambda text: own.encode(text, add_special_tokens=False).ids, lambda text: other.encode(text, add_special_tokens=False)


@pytest.fixture(
    scope="module", params=[("DreamTokenizer", Qwen2Tokenizer), ("Qwen2TokenizerFast", Qwen2Tokenizer), ("GPT2Tokenizer", GPT2Tokenizer)]
)
def both(request, tmp_path_factory):
    return pair(merges_folder(tmp_path_factory.mktemp("merges")), *request.param)


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_transformers_own(both, text):
    ours, theirs = both
    assert ours(text) == theirs(text)


@many
@given(parts=fragments)
def test_ids_of_any_text_are_transformers_own(both, parts):
    ours, theirs = both
    assert ours("".join(parts)) == theirs("".join(parts))


def test_qwen2_and_gpt2_split_differently(tmp_path):
    """Else the tests above could not tell one from the other."""
    qwen, _ = pair(merges_folder(tmp_path), "DreamTokenizer", Qwen2Tokenizer)
    gpt, _ = pair(tmp_path, "GPT2Tokenizer", GPT2Tokenizer)
    assert any(qwen(text) != gpt(text) for text in TEXTS)


def test_added_tokens_keep_their_ids_over_gaps(tmp_path):
    tokenizer = Tokenizer(merges_folder(tmp_path, first=900))
    assert [tokenizer.backend.token_to_id(text) for text in (*CHATML, "<think>")] == list(range(900, 906))
    assert tokenizer.special == set(range(900, 905))
    assert tokenizer.backend.encode("a<|mask|>").ids[-1] == 904
    assert tokenizer.decode([904, *tokenizer.backend.encode("a é").ids]) == "a é"


def test_legacy_added_tokens_are_read(tmp_path):
    merges_folder(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    added = {token["content"]: int(index) for index, token in config.pop("added_tokens_decoder").items()}
    write(tmp_path, "tokenizer_config.json", config)
    write(tmp_path, "added_tokens.json", added)
    write(tmp_path, "special_tokens_map.json", {"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer = Tokenizer(tmp_path)
    assert tokenizer.special == {added[text] for text in CHATML}
    assert tokenizer.backend.token_to_id("<think>") == added["<think>"]


def test_a_blank_goes_in_front_where_the_config_says_so(tmp_path):
    tokenizer = Tokenizer(merges_folder(tmp_path, tokenizer_class="GPT2Tokenizer", add_prefix_space=True))
    assert tokenizer.decode(tokenizer.backend.encode("shells").ids) == " shells"


def test_a_token_is_special_wherever_it_is_called_so(tmp_path):
    """tokenizer.json alone would take the mask for an ordinary token, which a prompt could write."""
    whole_folder(tmp_path, CHATML, mask_token="<think>")
    whole = json.loads((tmp_path / "tokenizer.json").read_text())
    index = max(token["id"] for token in whole["added_tokens"]) + 1
    whole["added_tokens"].append(entry("<think>", special=False) | {"id": index})
    write(tmp_path, "tokenizer.json", whole)
    tokenizer = Tokenizer(tmp_path)
    assert index in tokenizer.special and index not in tokenizer.encode_prompt("<think>")


def test_a_folder_has_a_tokenizer_or_not(tmp_path):
    assert not has_tokenizer(tmp_path) and not has_tokenizer(MODELS / "dream-a") and not has_tokenizer(tmp_path / "nowhere")
    assert has_tokenizer(merges_folder(tmp_path / "merges")) and has_tokenizer(whole_folder(tmp_path / "whole", CHATML))
    with pytest.raises(ModelError, match="token ids"):
        Tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("name", "words"), [("T5Tokenizer", "'T5Tokenizer'"), (None, "does not tell"), ("LlamaTokenizer", "DreamTokenizer")]
)
def test_an_unknown_way_to_split_is_refused(tmp_path, name, words):
    with pytest.raises(ModelError, match=words):
        Tokenizer(merges_folder(tmp_path, tokenizer_class=name))


def test_no_merges_are_a_sentence(tmp_path):
    (merges_folder(tmp_path) / "merges.txt").unlink()
    assert has_tokenizer(tmp_path)
    with pytest.raises(ModelError, match=r"no merges\.txt"):
        Tokenizer(tmp_path)


@pytest.mark.parametrize("file", ["vocab.json", "merges.txt"])
@pytest.mark.parametrize("content", ["{", '{"a": "b"}', "[1]", "zz yy\n", "\x00"])
def test_damaged_files_are_a_sentence(tmp_path, file, content):
    (merges_folder(tmp_path) / file).write_text(content)
    with pytest.raises(ModelError, match=file.partition(".")[0]) as told:
        Tokenizer(tmp_path)
    assert "\n" not in str(told.value)


def test_files_of_two_tokenizers_are_a_sentence(tmp_path):
    whole_folder(tmp_path, CHATML, mask_token="<|mask|>")
    size = len(trained().get_vocab())
    write(tmp_path, "added_tokens.json", {"<|mask|>": size + 40})
    with pytest.raises(ModelError, match="contradicts itself"):
        Tokenizer(tmp_path)
    write(tmp_path, "added_tokens.json", {"<other>": size + 40})
    write(tmp_path, "tokenizer_config.json", {"mask_token": "<other>"})
    with pytest.raises(ModelError, match="'<other>' should have the id"):
        Tokenizer(tmp_path)
