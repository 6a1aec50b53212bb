"""Tokenizers without remote code: tokenizer.json for the text, tokenizer_config.json for the prompt's template."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from jinja2 import Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer as Backend

from .errors import ModelError
from .files import read_object

PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
# Byte-level vocabularies write a printable byte as itself, the others as the characters from 256 on.
ALPHABET = {chr(byte): byte for byte in PRINTABLE}
ALPHABET |= {chr(256 + place): byte for place, byte in enumerate(sorted(set(range(256)) - set(PRINTABLE)))}


class Tokenizer:
    """Text to token ids and back, for one checkpoint folder."""

    def __init__(self, folder: str | Path) -> None:
        folder = Path(folder)
        path = folder / "tokenizer.json"
        if not path.exists():
            raise ModelError(f"{folder} holds no tokenizer.json: give the prompt as token ids, or a folder with one.")
        try:
            self.backend = Backend.from_file(str(path))
        except Exception as error:  # the library raises bare Exception for every kind of damage
            raise ModelError(f"{path} cannot be read: {error}.") from None
        self.names, self.template = read_template(folder / "tokenizer_config.json")
        self.pieces: dict[int, str] = {}  # as far as they were asked for
        self.special = {index for index, token in self.backend.get_added_tokens_decoder().items() if token.special}

    def encode_prompt(self, text: str) -> list[int]:
        """Token ids of a user's text inside the checkpoint's own prompt template."""
        return self.backend.encode(self.render(text), add_special_tokens=False).ids

    def render(self, text: str) -> str:
        if self.template is None:
            return text
        try:
            messages = [{"role": "user", "content": text}]
            return self.template.render(self.names, prompt=text, messages=messages, add_generation_prompt=True)
        except Exception as error:  # a template is the checkpoint's code: it may fail in any way
            raise ModelError(f"The checkpoint's chat template fails: {error}.") from None

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a whole sequence, special tokens left out."""
        return self.backend.decode([index for index in ids if index not in self.special], skip_special_tokens=False)

    def piece(self, index: int) -> str:
        """One token for display: its text; a special token's name; the hex of a byte that is no character alone."""
        if index not in self.pieces:
            self.pieces[index] = self.read_piece(index)
        return self.pieces[index]

    def read_piece(self, index: int) -> str:
        if index in self.special:
            return self.backend.id_to_token(index)
        text = self.backend.decode([index], skip_special_tokens=False)
        if "\ufffd" in text:
            return f"⟨{self.backend.id_to_token(index)}⟩"
        return text

    def texts(self, ids: Sequence[int], gaps: Collection[int] = ()) -> list[str | None]:
        """The text of every token of a sequence as it reads inside the whole: joined they are `decode` of each unbroken run.

        None: the token is part of a character that ends in a later token, whose text carries it. A token whose bytes never become
        a character falls back to `piece`. An id in `gaps` (the mask) ends a run and is empty; so does a special token, by its name.
        """
        # Not the library's DecodeStream: invalid bytes make it raise, or hold back the text that follows them.
        gaps = frozenset(gaps)
        texts: list[str | None] = []
        before: list[int] = []
        begun = False  # whether text stands before: decoders may drop a blank where there is none
        for group, readable in self.characters(ids, gaps):
            if readable:
                text = self.following(before, group)
                texts += [*[None] * (len(group) - 1), text]
                begun = begun or bool(text)
                before = [*(self.anchor if begun else before), *group]  # the last group suffices: linear time
                continue
            texts += ["" if index in gaps else self.piece(index) for index in group]
            # Special tokens are no text to `decode`: behind a leading <s> the text still starts.
            if not begun and (group[0] in gaps or not self.textless(group[0])):
                before, begun = self.anchor, True
        return texts

    def characters(self, ids: Sequence[int], gaps: Collection[int]) -> Iterator[tuple[list[int], bool]]:
        """A sequence in groups of tokens; True: whole characters, False: gaps, special tokens and bytes that are no character."""
        pending: list[int] = []
        tail: bytes | None = b""
        for index in ids:
            if index in gaps or self.textless(index):
                if pending:
                    yield pending, False
                yield [index], False
                pending, tail = [], b""
                continue
            data = self.raw(self.backend.id_to_token(index))
            tail = unfinished(tail + data)
            if tail is None and pending:  # their character never ends: read on from this token
                yield pending, False
                pending, tail = [], unfinished(data)
            pending.append(index)
            if not tail:
                yield pending, tail is not None
                pending, tail = [], b""
        if pending:
            yield pending, False

    def following(self, before: list[int], group: list[int]) -> str:
        """The text a group adds to the text before it."""
        known = self.backend.decode(before, skip_special_tokens=False)
        return self.backend.decode([*before, *group], skip_special_tokens=False)[len(known) :]

    def textless(self, index: int) -> bool:
        """Special tokens, and ids beyond the vocabulary (a padded embedding has some): `decode` leaves both out."""
        return index in self.special or self.backend.id_to_token(index) is None

    def raw(self, token: str) -> bytes:
        """The bytes a token adds to the text, as far as the end of a character is concerned."""
        if "ByteLevel" in self.decoders and all(character in ALPHABET for character in token):
            return bytes(ALPHABET[character] for character in token)
        if "ByteFallback" in self.decoders and (match := re.fullmatch("<0x([0-9A-Fa-f]{2})>", token)):
            return bytes.fromhex(match[1])
        return token.encode()

    @cached_property
    def decoders(self) -> set[str]:
        """The types of the decoder's parts, which only its pickled JSON tells."""
        decoder = self.backend.decoder
        return set(re.findall('"type":"([^"]+)"', decoder.__getstate__().decode())) if decoder else set()

    @cached_property
    def anchor(self) -> list[int]:
        """A token that is a word: what stands behind it is not at the start of the text. Empty if the vocabulary has none."""
        return next(([index] for index in range(self.backend.get_vocab_size()) if self.piece(index).isalnum()), [])


def unfinished(data: bytes) -> bytes | None:
    """The bytes at the end that begin a character; None: the bytes are no UTF-8."""
    try:
        return data[codecs.utf_8_decode(data, "strict", False)[1] :]
    except UnicodeDecodeError:
        return None


def read_template(path: Path) -> tuple[dict[str, str], Template | None]:
    """The special tokens a template may name, and the chat template, sandboxed; None if the checkpoint has none."""
    config = read_object(path, missing=f"{path} is gone.") if path.exists() else {}
    source = config.get("chat_template")
    named = {name: config.get(name) for name in ("bos_token", "eos_token", "pad_token", "mask_token")}
    names = {name: token["content"] if isinstance(token, dict) else token or "" for name, token in named.items()}
    if source is None:
        return names, None
    try:
        return names, ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(source)
    except (TemplateError, TypeError) as error:
        raise ModelError(f"The chat template in {path} is damaged: {error}.") from None
