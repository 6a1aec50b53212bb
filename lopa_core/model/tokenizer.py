"""Tokenizers without remote code: tokenizer.json for the text, tokenizer_config.json for the prompt's template."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer as Backend

from .errors import ModelError
from .files import read_object


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
        if index in self.special:
            return self.backend.id_to_token(index)
        text = self.backend.decode([index], skip_special_tokens=False)
        if "\ufffd" in text:
            return f"⟨{self.backend.id_to_token(index)}⟩"
        return text


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
