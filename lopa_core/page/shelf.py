"""The models a page offers, and what a visitor's prompt and settings become for them."""

from __future__ import annotations

from typing import Any

from ..decode.settings import DecodeSettings
from ..model.source import Source
from ..runtime.opening import Opening
from ..runtime.session import Model

LONGEST_PROMPT = 2000  # characters
BYTE_ORDER_MARK = "\ufeff"


class PageError(ValueError):
    """An input the page cannot use; the message is for a person."""


class Shelf:
    """The models a page offers, by name: those that are here, and one that may still be on its way, which then goes first."""

    def __init__(self, *models: Model, opening: Opening | None = None) -> None:
        self.models, self.opening = models, opening

    @property
    def main(self) -> Model:
        """The model that visitors meet: the one on its way as soon as it has come."""
        return (self.opening and self.opening.model) or self.models[0]

    @property
    def first(self) -> str:
        return self.main.name

    @property
    def sources(self) -> dict[str, Source]:
        coming = [self.opening.source] if self.opening else []
        return {source.name: source for source in (*coming, *(model.source for model in self.models))}

    def choices(self) -> list[tuple[str, str]]:
        """(title, name) pairs for a menu."""
        return [(source.title, name) for name, source in self.sources.items()]

    def source(self, name: str) -> Source:
        """Raises PageError where there is no such model."""
        if name not in self.sources:
            raise PageError(f"There is no model {name!r} here: take one of the menu's.")
        return self.sources[name]

    def take(self, name: str) -> Model:
        """The model of this name. Raises PageError, also while it cannot be used yet."""
        source = self.source(name)
        if name == self.main.name:
            return self.main
        here = next((model for model in self.models if model.name == name), None)
        if here is None:
            raise PageError(f"{self.opening.error or f'{source.title} is not here yet ({self.opening.state})'} Meanwhile, take another.")
        return here

    def cannot(self, name: str) -> str:
        """Why a recording of this model cannot be decoded on from here; "" if it can."""
        return "" if name in self.sources else f"This page does not have the recording's model, {name}."

    def notice(self) -> str:
        """What visitors should know of the model on its way; "" once it has come."""
        if self.opening is None or self.opening.model:
            return ""
        title, here = self.opening.source.title, self.main.source.title
        if self.opening.error:
            return f"{title} cannot be used here: {self.opening.error} {here} answers instead."
        return f"{title} is on its way ({self.opening.state}). Until it is here, {here} answers."

    def health(self) -> dict[str, Any]:
        """Of the main model, and what the one on its way does."""
        told = self.main.health() | {"model": self.first}
        if self.opening is None or self.opening.model:
            return told
        return told | {"coming": {"model": self.opening.source.name, "state": self.opening.state, "reason": self.opening.error}}

    def close(self) -> None:
        for each in (*self.models, *([self.opening] if self.opening else [])):
            each.close()


def cleaned(prompt: str) -> str:
    """A prompt without what stands around it unseen: blanks, and the byte-order mark of a text copied from a file.

    Raises:
        PageError: if it holds half a character, which a browser lets stand where an emoji was cut in two.
    """
    try:
        prompt.encode("utf-8")
    except UnicodeEncodeError as error:
        raise PageError(f"The prompt holds half a character at place {error.start + 1}: delete it or type it anew.") from None
    return prompt.strip().removeprefix(BYTE_ORDER_MARK).strip()


def encode(model: Model, prompt: str) -> list[int]:
    """Token ids of a prompt. Raises PageError, SettingsError, ModelError."""
    if len(prompt.strip()) > LONGEST_PROMPT:
        raise PageError(f"The prompt has {len(prompt.strip())} characters; this page takes up to {LONGEST_PROMPT}.")
    return model.encode(prompt)


def settings_of(values: dict[str, Any]) -> DecodeSettings:
    """Settings from widgets, whose whole numbers may arrive as floats. Raises SettingsError."""
    whole = {name: int(value) for name, value in values.items() if isinstance(value, float) and value.is_integer()}
    return DecodeSettings(**(values | whole))
