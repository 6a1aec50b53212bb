"""Prompts: what the template writes is kept, what the user writes stays text, and ids are those of the whole, encoded at once."""

import itertools

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tokenizers import AddedToken, processors
from tokenizers import Tokenizer as Backend
from transformers import PreTrainedTokenizerFast

from lopa_core.model.errors import ModelError
from lopa_core.model.tokenizer import Tokenizer

from ..helpers.vocabularies import CHATML, LLADA, merges_folder, trained, whole_folder

DREAM = """{%- for m in messages %}
    {%- if loop.first and m.role != 'system' %}{{ '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}{% endif %}
    {{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
QWEN3 = DREAM + """{%- if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}"""
HEADERS = """{% set turns = messages %}{% for m in turns -%}
{% set text = '<|start_header_id|>' + m['role'] + '<|end_header_id|>\n\n' + m['content'] | trim + '<|eot_id|>' %}
{% if loop.index0 == 0 %}{% set text = bos_token + text %}{% endif %}{{ text }}{% endfor %}
{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"""
BRACKETS = """{{ '[SYS]' }}{% for m in messages %}{{ '[Question]' + m.content + '[/Question]' if m.role == 'user' else m.content }}
{%- endfor %}{% if add_generation_prompt %}[Answer]{% endif %}"""
BERT = ("[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]", "[SYS]", "[Question]", "[/Question]", "[Answer]", "[/Answer]")

FAMILIES = {
    "dream": (CHATML, {"chat_template": DREAM, "bos_token": "<|beginoftext|>", "mask_token": "<|mask|>"}),
    "qwen3": ((*CHATML, "<think>", "</think>"), {"chat_template": QWEN3, "mask_token": "<|mask|>"}),
    "llada": (LLADA, {"chat_template": HEADERS, "bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>"}),
    "modernbert": (BERT, {"chat_template": BRACKETS, "mask_token": "[MASK]"}),
}
many = hypothesis_settings(max_examples=150, deadline=None, derandomize=True)
parts = [*CHATML, *LLADA, *BERT, "<|", "|>", "im_end", "[", "]", " ", "\n", "a", "Mia", "12", "<", "\U000f0000", "é", "中"]
spelling = st.lists(st.sampled_from(parts), max_size=10).map("".join)
ordinary = (st.text(max_size=30) | spelling).filter(lambda text: not any(name in text for name in (*CHATML, *LLADA, *BERT)))


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request, tmp_path_factory):
    special, config = FAMILIES[request.param]
    return whole_folder(tmp_path_factory.mktemp(request.param), special, **config)


@pytest.fixture(scope="module")
def tokenizer(folder):
    return Tokenizer(folder)


@pytest.fixture(scope="module")
def reference(folder):
    return PreTrainedTokenizerFast.from_pretrained(folder)


def controls(tokenizer: Tokenizer, text: str) -> list[int]:
    return [index for index in tokenizer.encode_prompt(text) if index in tokenizer.special]


@many
@given(text=ordinary)
def test_ordinary_prompts_are_transformers_own(tokenizer, reference, text):
    messages = [{"role": "user", "content": text}]
    theirs = reference.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    assert tokenizer.render(text) == reference.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert tokenizer.encode_prompt(text) == theirs == tokenizer.backend.encode(tokenizer.render(text), add_special_tokens=False).ids


@many
@given(text=spelling)
def test_a_user_cannot_write_special_tokens(tokenizer, text):
    assert controls(tokenizer, text) == controls(tokenizer, "hi") != []


@many
@given(text=spelling)
def test_no_character_of_a_prompt_is_lost(tokenizer, text):
    assert tokenizer.backend.decode(tokenizer.encode_prompt(text), skip_special_tokens=False) == tokenizer.render(text)


@many
@given(text=spelling)
def test_spelled_tokens_are_encoded_with_the_text_around_them(tokenizer, text):
    """A prompt of special tokens is cut where the template's own stand, nowhere else."""
    ids, literal = tokenizer.encode_prompt(text), tokenizer.literal
    for special, run in itertools.groupby(ids, lambda index: index in tokenizer.special):
        whole = list(run)
        assert special or literal.encode(literal.decode(whole, skip_special_tokens=False)).ids == whole


def test_a_user_s_special_tokens_are_text_for_the_model_too(tmp_path):
    tokenizer = Tokenizer(whole_folder(tmp_path, CHATML))
    ids = tokenizer.encode_prompt("a<|mask|>b")
    assert tokenizer.special.isdisjoint(ids) and tokenizer.decode(ids) == "a<|mask|>b"
    assert len(ids) > 4 and tokenizer.texts(ids)[0] == "a"


def test_the_longest_special_token_is_the_template_s(tmp_path):
    """As the library takes it, also where another one is its beginning."""
    tokenizer = Tokenizer(whole_folder(tmp_path, ("<x", "<x>", "<x>>", "<m>"), chat_template="<x>>{{ prompt }}<x><x"))
    ids = [tokenizer.backend.token_to_id(name) for name in ("<x>>", "<x>", "<x")]
    assert controls(tokenizer, "hi") == controls(tokenizer, "<m>") == controls(tokenizer, "<x>>") == ids


def test_words_reach_over_the_border_of_template_and_text(tmp_path):
    """As they did in training, where template and text were one: the border is none to the tokenizer."""
    tokenizer = Tokenizer(whole_folder(tmp_path, CHATML, chat_template="Ques{{ prompt }}<|im_end|>"))
    pieces = [tokenizer.backend.encode(part).ids for part in ("Ques", "tion")]
    for text in ("tion", "tion <|im_end|>"):
        ids = tokenizer.encode_prompt(text)
        assert ids[: len(trained().encode("Question").ids)] == trained().encode("Question").ids
    assert sum(pieces, []) != trained().encode("Question").ids


WORDS = ("<think>", "</think>", "<tool_call>", "[TOOL_CALLS]", "<|fim_prefix|>", "<｜tool▁sep｜>")


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("layout", ["merges", "whole"])
def test_a_control_word_that_is_not_called_special_stays_text_of_the_user(tmp_path, layout, word):
    template = f"<|im_start|>{word}{{{{ prompt }}}}{word}<|im_end|>"
    if layout == "merges":
        merges_folder(tmp_path, plain=WORDS, chat_template=template)
    else:
        backend = Backend.from_file(str(whole_folder(tmp_path, CHATML, chat_template=template) / "tokenizer.json"))
        backend.add_tokens([AddedToken(each, normalized=False) for each in WORDS])
        backend.save(str(tmp_path / "tokenizer.json"))
    tokenizer = Tokenizer(tmp_path)
    index = tokenizer.backend.token_to_id(word)
    assert index not in tokenizer.special
    for text in (word, f"say {word} and", f"{word}{word}<|im_end|>"):
        ids = tokenizer.encode_prompt(text)
        assert ids.count(index) == 2 and ids[1] == ids[-2] == index  # the template's own
        assert tokenizer.backend.decode(ids, skip_special_tokens=False) == tokenizer.render(text)


@pytest.mark.parametrize("word", ["    ", "\n\n", "lopa", "[]", "|||", "🦜🦜"])
def test_added_words_of_ordinary_text_are_used_as_in_training(tmp_path, word):
    tokenizer = Tokenizer(merges_folder(tmp_path, plain=(word, "<think>"), chat_template="{{ prompt }}"))
    assert tokenizer.backend.token_to_id(word) in tokenizer.encode_prompt(f"a{word}b")
    assert tokenizer.backend.token_to_id(word) in tokenizer.encode_prompt(f"a{word}b <think>")


def with_processor(folder, single, special=CHATML, **config):
    """A tokenizer.json whose post-processor adds tokens of its own."""
    backend = Backend.from_file(str(whole_folder(folder, special, **config) / "tokenizer.json"))
    ids = [(name, backend.token_to_id(name)) for name in special]
    backend.post_processor = processors.TemplateProcessing(single=single, pair=f"{single} $B", special_tokens=ids)
    backend.save(str(folder / "tokenizer.json"))
    return Tokenizer(folder, prompt="plain"), dict(ids)


@pytest.mark.parametrize(
    ("single", "config", "front"),
    [
        ("<|beginoftext|> $A", {}, ["<|beginoftext|>"]),
        ("<|beginoftext|> $A", {"bos_token": "<|beginoftext|>"}, ["<|beginoftext|>"]),
        ("<|beginoftext|> $A", {"bos_token": "<|beginoftext|>", "add_bos_token": True}, ["<|beginoftext|>"]),
        ("<|beginoftext|> $A", {"bos_token": "<|beginoftext|>", "add_bos_token": False}, []),
        ("<|im_start|> <|beginoftext|> $A <|im_end|>", {}, ["<|im_start|>", "<|beginoftext|>"]),
        ("$A <|im_end|>", {}, []),
    ],
)
def test_a_plain_prompt_begins_as_the_post_processor_has_it(tmp_path, single, config, front):
    tokenizer, ids = with_processor(tmp_path, single, **config)
    plain = tokenizer.backend.encode("Mia has", add_special_tokens=False).ids
    assert tokenizer.encode_prompt("Mia has") == [ids[name] for name in front] + plain
    templated = Tokenizer(whole_folder(tmp_path, CHATML, chat_template="{{ prompt }}"))
    assert templated.encode_prompt("Mia has") == plain  # a template writes its own


def test_thinking_is_turned_off_by_an_argument(tmp_path):
    whole_folder(tmp_path, CHATML, chat_template=QWEN3)
    assert Tokenizer(tmp_path).render("hi").endswith("assistant\n")
    assert Tokenizer(tmp_path, arguments={"enable_thinking": True}).render("hi").endswith("assistant\n")
    assert Tokenizer(tmp_path, arguments={"enable_thinking": False}).render("hi").endswith("assistant\n<think>\n\n</think>\n\n")


def test_the_default_system_prompt_is_the_template_s(tmp_path):
    text = Tokenizer(merges_folder(tmp_path, chat_template=DREAM)).render("hi")
    assert text == ("<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.parametrize("add_bos_token", [True, False])
def test_llada_s_prompt_begins_once(tmp_path, add_bos_token):
    special, config = FAMILIES["llada"]
    tokenizer = Tokenizer(whole_folder(tmp_path, special, **config, add_bos_token=add_bos_token))
    bos = tokenizer.backend.token_to_id("<|startoftext|>")
    ids = tokenizer.encode_prompt("hi")
    assert ids[0] == bos and ids.count(bos) == 1
    assert tokenizer.backend.decode(ids, skip_special_tokens=False) == (
        "<|startoftext|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
    )


def test_a_plain_prompt_is_the_text_alone(tmp_path):
    tokenizer = Tokenizer(merges_folder(tmp_path, chat_template=DREAM), prompt="plain")
    assert tokenizer.render(" hi<|im_end|>") == " hi<|im_end|>"
    assert tokenizer.encode_prompt("hi") == tokenizer.backend.encode("hi").ids
    assert tokenizer.special.isdisjoint(tokenizer.encode_prompt(" hi<|im_end|>"))


@pytest.mark.parametrize(
    ("prompt", "config", "begins"),
    [
        ("plain", {"add_bos_token": True}, True),
        ("plain", {"add_bos_token": False}, False),
        ("plain", {}, False),
        ("plain+bos", {}, True),
        ("plain+bos", {"add_bos_token": False}, True),
        ("chat", {"add_bos_token": True}, True),  # a folder without a template
        ("chat", {}, False),
    ],
)
def test_a_prompt_without_template_begins_as_told(tmp_path, prompt, config, begins):
    tokenizer = Tokenizer(merges_folder(tmp_path, **config), prompt=prompt)
    bos = [tokenizer.backend.token_to_id("<|beginoftext|>")] if begins else []
    for text in ("hi", "<|beginoftext|>hi"):
        ids = tokenizer.encode_prompt(text)
        assert ids[: len(bos)] == bos and tokenizer.special.isdisjoint(ids[len(bos) :])


def test_prompts_that_cannot_begin_are_a_sentence(tmp_path):
    merges_folder(tmp_path, bos_token=None, add_bos_token=True)
    for prompt in ("chat", "plain", "plain+bos"):
        with pytest.raises(ModelError, match="bos_token"):
            Tokenizer(tmp_path, prompt=prompt)
    with pytest.raises(ModelError, match="prompt style 'sonnet'"):
        Tokenizer(tmp_path, prompt="sonnet")
