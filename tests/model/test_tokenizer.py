"""Tokenizers from files: texts of tokens for display, alone and inside a sequence, and damage said in a sentence."""

import json
import shutil

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers

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


def test_text_without_a_template_is_the_prompt(folder):
    assert with_config(folder).render("hi") == "hi"
    (folder / "tokenizer_config.json").unlink()
    assert Tokenizer(folder).render("hi") == "hi"


def test_the_template_is_the_folder_s(folder):
    assert Tokenizer(folder).render("hi") == "hi\nAnswer:"
    with pytest.raises(ModelError, match="template"):
        with_config(folder, chat_template="{{ 1 / 0 }}").encode_prompt("hi")


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


WORDS = ["a", "b", "c", "d", "e", "i", "n", "g", "s", "t", ".", ",", "'"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def byte_level() -> Backend:
    """Every byte, and tokens that cut characters in the middle: blank and lead byte, end of one character and start of the next."""
    merges = [("Ġ", "ð"), ("Ġ", "a"), ("a", "ð"), ("¸", "ä"), ("ï", "¿"), ("ï¿", "½"), ("×", "ķ")]
    tokens = sorted(pre_tokenizers.ByteLevel.alphabet()) + [left + right for left, right in merges]
    backend = Backend(models.BPE({token: index for index, token in enumerate(tokens)}, merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    return backend


def metaspace_vocabulary() -> list[str]:
    return ["<unk>", *BYTES, "▁", *WORDS, "▁a", "▁s", "中", "\ufffd"]


def byte_fallback_bpe(strip: decoders.Decoder | None = None) -> Backend:
    """As Llama has it: the blank that encoding prepends is cut from the whole text."""
    vocabulary = {token: index for index, token in enumerate(metaspace_vocabulary())}
    backend = Backend(models.BPE(vocabulary, [("▁", "a"), ("▁", "s")], unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    backend.decoder = decoders.Sequence([*parts, strip or decoders.Strip(" ", 1, 0)])
    return backend


def strips_two_blanks() -> Backend:
    return byte_fallback_bpe(decoders.Strip(" ", 2, 0))


def unigram() -> Backend:
    backend = Backend(models.Unigram([(token, -1.0) for token in metaspace_vocabulary()], unk_id=0, byte_fallback=True))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    return backend


def wordpiece() -> Backend:
    tokens = ["[UNK]", *WORDS, *(f"##{word}" for word in WORDS), "##ing", "中", "n't"]
    backend = Backend(models.WordPiece({token: index for index, token in enumerate(tokens)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    return backend


def word_ends() -> Backend:
    """The last word of a text loses its blank, so that it goes to the token behind it."""
    tokens = ["<unk>", *WORDS, *(f"{word}</w>" for word in WORDS)]
    backend = Backend(models.BPE({t: i for i, t in enumerate(tokens)}, [], unk_token="<unk>", end_of_word_suffix="</w>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.decoder = decoders.BPEDecoder()
    return backend


def no_decoder() -> Backend:
    backend = Backend(models.WordLevel({word: index for index, word in enumerate(["<unk>", *WORDS])}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return backend


BUILDERS = [byte_level, byte_fallback_bpe, strips_two_blanks, unigram, wordpiece, word_ends, no_decoder]
MASK, START = "<|mask|>", "<s>"


def load(folder, backend: Backend) -> Tokenizer:
    backend.add_special_tokens([MASK, START])
    backend.save(str(folder / "tokenizer.json"))
    return Tokenizer(folder)


@pytest.fixture(scope="module", params=[*BUILDERS, None], ids=lambda build: build.__name__ if build else "lopa-tiny")
def any_tokenizer(request, tmp_path_factory) -> Tokenizer:
    return load(tmp_path_factory.mktemp("tokenizer"), request.param()) if request.param else Tokenizer(PRESETS[DEFAULT].folder)


@pytest.fixture
def byte_tokens(tmp_path) -> Tokenizer:
    return load(tmp_path, byte_level())


@pytest.fixture
def llama(tmp_path) -> Tokenizer:
    return load(tmp_path, byte_fallback_bpe())


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    return [index for index in tokenizer.backend.encode(text, add_special_tokens=False).ids if index not in tokenizer.special]


def named(tokenizer: Tokenizer, *names: str) -> list[int]:
    ids = [tokenizer.backend.token_to_id(name) for name in names]
    assert None not in ids
    return ids


def joined(texts: list[str | None]) -> str:
    return "".join(text or "" for text in texts)


many = hypothesis_settings(max_examples=150, deadline=None, derandomize=True)
any_text = st.text(max_size=30) | st.text(alphabet="abing .,'\n\t\x00🦜中學שלום\ufffd▁#", max_size=30)


@many
@given(text=any_text)
def test_joined_texts_are_the_decoded_text(any_tokenizer, text):
    ids = encode(any_tokenizer, text)
    texts = any_tokenizer.texts(ids)
    assert len(texts) == len(ids) and joined(texts) == any_tokenizer.decode(ids)


@many
@given(text=any_text, data=st.data())
def test_gaps_are_empty_and_break_no_characters(any_tokenizer, text, data):
    (mask,) = named(any_tokenizer, MASK)
    ids = [mask if data.draw(st.booleans()) else index for index in encode(any_tokenizer, text)]
    texts = any_tokenizer.texts(ids, {mask})
    assert len(texts) == len(ids) and all(text == "" for index, text in zip(ids, texts) if index == mask)
    assert joined(texts).count("\ufffd") <= text.count("\ufffd")


@many
@given(text=any_text, data=st.data())
def test_text_behind_anything_is_read(any_tokenizer, text, data):
    (mask,) = named(any_tokenizer, MASK)
    anything = data.draw(st.lists(st.integers(0, any_tokenizer.backend.get_vocab_size() + 5), max_size=12))
    ids = encode(any_tokenizer, text)
    texts = any_tokenizer.texts([*anything, mask, *ids], {mask})
    assert len(texts) == len(anything) + 1 + len(ids) and texts[len(anything)] == ""
    alone = any_tokenizer.decode(ids)
    assert joined(texts[len(anything) + 1 :]).removesuffix(" ").lstrip(" ") == alone.removesuffix(" ").lstrip(" ")


@pytest.mark.parametrize("word", ["🦜", "文", "ש"])
def test_a_character_of_many_tokens_stands_at_its_last(byte_tokens, word):
    ids = encode(byte_tokens, f"b{word}b")
    assert byte_tokens.texts(ids) == ["b", *[None] * (len(word.encode()) - 1), word, "b"]


def test_a_token_that_ends_and_begins_characters_waits_for_the_second(byte_tokens):
    ids = encode(byte_tokens, "學中 🦜")
    assert byte_tokens.texts(ids) == [None, None, None, None, "學中", None, None, None, " 🦜"]


def test_invalid_bytes_fall_back_and_the_text_goes_on(byte_tokens):
    parrot = named(byte_tokens, *"ðŁ¦ľ")
    texts = byte_tokens.texts([*parrot[:2], *named(byte_tokens, "b"), *parrot[2:], *parrot, *parrot[:1]])
    assert texts == ["⟨ð⟩", "⟨Ł⟩", "b", "⟨¦⟩", "⟨ľ⟩", None, None, None, "🦜", "⟨ð⟩"]


def test_gaps_and_special_tokens_end_a_character(byte_tokens):
    parrot, (mask, start) = named(byte_tokens, *"ðŁ¦ľ"), named(byte_tokens, MASK, START)
    assert byte_tokens.texts([*parrot, mask, *parrot[:3], mask], [mask]) == [None, None, None, "🦜", "", "⟨ð⟩", "⟨Ł⟩", "⟨¦⟩", ""]
    assert byte_tokens.texts([parrot[0], start, *parrot[1:], mask]) == ["⟨ð⟩", START, "⟨Ł⟩", "⟨¦⟩", "⟨ľ⟩", MASK]
    assert byte_tokens.texts([parrot[0], *named(byte_tokens, "b")], named(byte_tokens, "b")) == ["⟨ð⟩", ""]


def test_a_replacement_character_in_the_text_is_text(byte_tokens):
    bytes_alone = named(byte_tokens, *"ï¿½")
    assert byte_tokens.texts(named(byte_tokens, "ï¿½", "b")) == ["\ufffd", "b"]
    assert byte_tokens.texts([*bytes_alone, *bytes_alone[:2]]) == [None, None, "\ufffd", "⟨ï⟩", "⟨¿⟩"]


def test_control_characters_stay(byte_tokens):
    assert byte_tokens.texts(encode(byte_tokens, "\x00\n\x7f\x85")) == ["\x00", "\n", "\x7f", None, "\x85"]


def test_a_blank_is_dropped_only_at_the_start_of_the_text(llama):
    word, (mask, start) = named(llama, "▁a"), named(llama, MASK, START)
    assert llama.texts(word * 2) == ["a", " a"]
    assert llama.texts([mask, *word, mask, *word], {mask}) == ["", " a", "", " a"]
    assert llama.texts([start, *word, start, *word]) == [START, "a", START, " a"]  # as in `decode`, which leaves <s> out
    assert llama.texts([10**6, *word]) == ["", "a"]
    assert llama.texts([*named(llama, "<0xE5>"), *word]) == ["⟨<0xE5>⟩", " a"]
    assert llama.texts(named(llama, "▁", "▁", "▁a")) == ["", " ", " a"]


def test_an_unfinished_byte_spoils_no_bytes_before_it(llama):
    """The library makes a whole run of byte tokens unreadable for one wrong byte."""
    ids = named(llama, "<0xE5>", "<0x8F>", "<0xAB>", "<0x0A>", "<0xE5>", "▁a")
    assert llama.texts(ids) == [None, None, "叫", "\n", "⟨<0xE5>⟩", " a"]


def test_word_pieces_lose_their_marks(tmp_path):
    tokenizer = load(tmp_path, wordpiece())
    (mask,) = named(tokenizer, MASK)
    assert tokenizer.texts(named(tokenizer, "s", "##ing", ".", "a")) == ["s", "ing", ".", " a"]
    assert tokenizer.texts([mask, *named(tokenizer, "##ing"), mask, *named(tokenizer, "s")], [mask]) == ["", "ing", "", " s"]


def test_work_grows_with_the_canvas_and_no_faster(any_tokenizer):
    counts = {}
    for length in (64, 512):
        canvas = (any_tokenizer.backend.encode("naïve 🦜 text " * 100, add_special_tokens=False).ids * 10)[:length]
        counting = Counting(any_tokenizer.backend)
        any_tokenizer.backend, backend = counting, any_tokenizer.backend
        any_tokenizer.texts(canvas)
        any_tokenizer.backend = backend
        counts[length] = counting.decoded
    assert counts[512] < 12 * counts[64]


class Counting:
    """A tokenizer's backend that counts the tokens it decodes."""

    def __init__(self, backend):
        self.backend, self.decoded = backend, 0

    def __getattr__(self, name):
        return getattr(self.backend, name)

    def decode(self, ids, **options):
        self.decoded += len(ids)
        return self.backend.decode(ids, **options)
