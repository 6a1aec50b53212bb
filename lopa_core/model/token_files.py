"""What the small files of a tokenizer say: names of special tokens, added tokens, their ids. Files that contradict are refused.

Names stand in tokenizer_config.json and special_tokens_map.json, ids in the former's added_tokens_decoder, in added_tokens.json,
tokenizer.json and vocab.json. Every one of them may be absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

from .errors import ModelError
from .files import read_object

CONFIG, MAP, WHOLE, ADDED, VOCABULARY = (
    "tokenizer_config.json", "special_tokens_map.json", "tokenizer.json", "added_tokens.json", "vocab.json",
)  # fmt: skip
ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
DECIDING = ("mask_token", "bos_token")  # several tokens may end a text, and nothing here is padded or classified: those may differ
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


class TokenizerFiles:
    """The tokenizer's files of one folder, each read when first asked for. Every property raises ModelError for damage."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def has(self, name: str) -> bool:
        return (self.folder / name).is_file()

    def read(self, name: str) -> dict[str, Any]:
        """A file's JSON object, empty where there is no such file."""
        path = self.folder / name
        return read_object(path, missing=f"{path} is gone.") if path.is_file() else {}

    @cached_property
    def config(self) -> dict[str, Any]:
        return self.read(CONFIG)

    @cached_property
    def map(self) -> dict[str, Any]:
        return self.read(MAP)

    @cached_property
    def whole(self) -> dict[str, Any]:
        return self.read(WHOLE)

    @cached_property
    def names(self) -> dict[str, str]:
        """{role: text} of the special tokens that have a role, such as mask_token."""
        found: dict[str, str] = {}
        for role in ROLES:
            texts = self.of_role(role)
            if role in DECIDING and len(set(texts.values())) > 1:
                said = " and ".join(f"{text!r} in {name}" for name, text in texts.items())
                raise ModelError(f"{self.folder} contradicts itself: its {role} is {said}; correct the one that is wrong.")
            if texts:
                found[role] = next(iter(texts.values()))
        return found

    @property
    def ends(self) -> list[str]:
        """The texts of all tokens that a file names as the end of a text, each once."""
        return list(dict.fromkeys(self.of_role("eos_token").values()))

    def of_role(self, role: str) -> dict[str, str]:
        """{file: text} of a role's token."""
        told = {name: self.text(name, role, content.get(role)) for name, content in ((CONFIG, self.config), (MAP, self.map))}
        return {name: text for name, text in told.items() if text}

    def text(self, name: str, role: str, token: Any) -> str:
        """A token's text, "" for none; files write it as a string or as an object with its content."""
        if token is None:
            return ""
        text = token.get("content") if isinstance(token, dict) else token
        if not isinstance(text, str):
            raise ModelError(f"{self.folder / name}: {role} must be a text or an object with a content, not {token!r}.")
        return text

    @cached_property
    def added(self) -> dict[int, AddedToken]:
        """{id: token} of the tokens that were added to the vocabulary; what only added_tokens.json holds is special by its name."""
        found: dict[int, AddedToken] = {}
        places: dict[str, int] = {}
        for name, index, token in self.entries():
            text = found.setdefault(index, token).content
            known = places.setdefault(token.content, index)
            if text != token.content or known != index:
                raise ModelError(
                    f"{self.folder} contradicts itself: {name} gives {token.content!r} the id {index}, but another entry "
                    f"has {text!r} at {index} and {token.content!r} at {known}; take the files of one tokenizer."
                )
        return found

    def entries(self) -> Iterator[tuple[str, int, AddedToken]]:
        """(file, id, token) of every added token, as often as the files name it. An empty one can never be met: it is none."""
        special = {*self.names.values(), *self.ends, *self.extras()}
        decoder = self.objects(CONFIG, self.config, "added_tokens_decoder", dict)
        places = [(CONFIG, index, entry) for index, entry in decoder.items()]
        for entry in self.objects(WHOLE, self.whole, "added_tokens", list):
            places.append((WHOLE, entry.get("id") if isinstance(entry, dict) else None, entry))
        for text, index in self.read(ADDED).items():
            places.append((ADDED, index, {"content": text, "special": text in special, "normalized": False}))
        for name, index, entry in places:
            if not isinstance(entry, dict) or entry.get("content") != "":
                token = self.token(name, entry)
                yield name, self.index(name, index), token

    def extras(self) -> Iterator[str]:
        """Texts of special tokens without a role."""
        key = "additional_special_tokens"
        for name, told in ((CONFIG, self.config), (MAP, self.map)):
            yield from filter(None, (self.text(name, key, token) for token in self.objects(name, told, key, list)))

    def objects(self, name: str, told: dict[str, Any], key: str, kind: type) -> Any:
        value = told.get(key)
        if value is not None and not isinstance(value, kind):
            raise ModelError(f"{self.folder / name}: {key} must be a JSON {'object' if kind is dict else 'list'}.")
        return value or kind()

    def index(self, name: str, value: Any) -> int:
        """A token's id; keys of a JSON object are texts."""
        number = int(value) if isinstance(value, str) and value.isdecimal() else value
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise ModelError(f"{self.folder / name}: a token's id must be a whole number, not {value!r}.")
        return number

    def token(self, name: str, entry: Any) -> AddedToken:
        told = entry if isinstance(entry, dict) else {}
        flags = {flag: told[flag] for flag in FLAGS if flag in told}
        text = told.get("content")
        if not isinstance(text, str) or not text or not all(isinstance(flag, bool) for flag in flags.values()):
            raise ModelError(f"{self.folder / name}: an added token must be an object with a content, not {entry!r}.")
        return AddedToken(text, **flags)

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """{text: id} of vocab.json, or of tokenizer.json's model; empty where there is neither."""
        model = self.objects(WHOLE, self.whole, "model", dict)
        told = self.read(VOCABULARY) if self.has(VOCABULARY) else model.get("vocab", {})
        if isinstance(told, list):  # Unigram: pairs of text and score, in order of their ids
            told = {pair[0]: index for index, pair in enumerate(told) if isinstance(pair, list) and pair and isinstance(pair[0], str)}
        if not isinstance(told, dict):
            raise ModelError(f"{self.folder / WHOLE}: the model's vocab must be a JSON object or a list.")
        return told

    def find(self, text: str) -> int | None:
        """The id of a token; None if no file knows it."""
        index = next((index for index, token in self.added.items() if token.content == text), None)
        if index is None and text in self.vocabulary:
            return self.index(VOCABULARY, self.vocabulary[text])
        return index
