"""Text to token ids and back, without remote code: a user's text inside the checkpoint's template, tokens for display."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path

from tokenizers import Tokenizer as Backend

from .backend import read_backend
from .errors import ModelError
from .special import read_special
from .template import read_template
from .token_files import CONFIG, TokenizerFiles

# chat: inside the folder's template, if it has one. plain: the text alone, behind the token that begins a text where the
# tokenizer puts one there. plain+bos: behind it in any case, as Dream's base models were evaluated.
PROMPTS = ("chat", "plain", "plain+bos")
PRIVATE = range(0xF0000, 0xFFFFE)  # characters that no language uses
PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
# Added tokens of this shape steer a model (<think>, [TOOL_CALLS]) though the files may not call them special; others, such as
# runs of blanks, are text.
CONTROL = re.compile(r"[<\[{|].*\w.*[>\]}|]", re.DOTALL)
# Byte-level vocabularies write a printable byte as itself, the others as the characters from 256 on.
ALPHABET = {chr(byte): byte for byte in PRINTABLE}
ALPHABET |= {chr(256 + place): byte for place, byte in enumerate(sorted(set(range(256)) - set(PRINTABLE)))}


class Tokenizer:
    """Text to token ids and back, for one checkpoint folder. Raises ModelError where its files cannot be used.

    prompt: one of PROMPTS. arguments: what the chat template is called with, such as {"enable_thinking": False}.
    """

    def __init__(self, folder: str | Path, *, prompt: str = "chat", arguments: Mapping[str, object] | None = None) -> None:
        if prompt not in PROMPTS:
            raise ModelError(f"There is no prompt style {prompt!r}: take {', '.join(PROMPTS)}.")
        files = TokenizerFiles(folder)
        self.backend = read_backend(files)
        self.template = read_template(files, arguments or {}) if prompt == "chat" else None
        self.start = [] if self.template else start(files, self.backend, always=prompt == "plain+bos")
        self.pieces: dict[int, str] = {}  # as far as they were asked for
        added = self.backend.get_added_tokens_decoder()
        self.special = {index for index, token in added.items() if token.special}
        self.steering = self.special | {index for index, token in added.items() if CONTROL.fullmatch(token.content.strip())}

    def encode_prompt(self, text: str) -> list[int]:
        """Token ids of a user's text in the checkpoint's own prompt.

        What the text spells of special tokens and control words stays text: only the template writes them. Template and
        text are encoded as one, words across their border too, as they were in training.
        """
        hidden, stands_for = self.hide(text)
        rendered = self.render(hidden)
        if not stands_for:
            return [*self.start, *self.backend.encode(rendered, add_special_tokens=False).ids]
        ids = list(self.start)
        for place, part in enumerate(self.controls.split(rendered)):
            if place % 2:
                ids.append(self.backend.token_to_id(part))
            else:
                spelled = part.translate(stands_for)
                ids += self.literal.encode(spelled, add_special_tokens=False).ids
        return ids

    def render(self, text: str) -> str:
        """The prompt as text: the user's inside the template."""
        return self.template.render(text) if self.template else text

    def hide(self, text: str) -> tuple[str, dict[int, str]]:
        """A text with a private character for every control word it spells, and {character: what it stands for}."""
        spelled = dict.fromkeys(self.controls.findall(text))
        free = (chr(code) for code in PRIVATE if chr(code) not in text)
        characters = dict(zip(spelled, free))
        return self.controls.sub(lambda match: characters[match[0]], text), {ord(each): name for name, each in characters.items()}

    @cached_property
    def controls(self) -> re.Pattern[str]:
        """Any special token or control word, the longest that fits; none in a vocabulary that has none."""
        names = sorted((self.backend.id_to_token(index) for index in self.steering), key=len, reverse=True)
        return re.compile(f"({'|'.join(map(re.escape, names)) or '(?!)'})")

    @cached_property
    def literal(self) -> Backend:
        """The backend that reads control words as text; a copy, since other threads use the one that does not."""
        told = json.loads(self.backend.to_str())
        for token in told["added_tokens"]:
            token["special"] = token["id"] in self.steering
        backend = Backend.from_str(json.dumps(told))
        backend.encode_special_tokens = True
        return backend

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


def start(files: TokenizerFiles, backend: Backend, *, always: bool) -> list[int]:
    """The tokens that begin a prompt without a template, if any. Raises ModelError if there should be one and is not.

    tokenizer_config.json's add_bos_token decides; where it is silent, what tokenizer.json's post-processor puts in front.
    """
    told = files.config.get("add_bos_token")
    front = in_front(backend) if told is None else []
    if front or not (always or told is True):
        return front
    bos = read_special(files).bos
    if bos is None:
        raise ModelError(f"{files.folder / CONFIG} names no bos_token, which a plain prompt of this model begins with.")
    return [bos]


def in_front(backend: Backend) -> list[int]:
    """The special tokens that a backend's post-processor puts before a text."""
    encoded = backend.encode("a")
    return [index for index, _ in takewhile(lambda each: each[1], zip(encoded.ids, encoded.special_tokens_mask))]
