"""The models a page offers, and what a visitor's prompt and settings become for them."""

from __future__ import annotations

from typing import Any

from ..decode.settings import DecodeSettings
from ..model.presets import PRESETS
from ..runtime.session import Model

LONGEST_PROMPT = 2000  # characters
BASELINES = ("confidence", "vanilla")


class PageError(ValueError):
    """An input the page cannot use; the message is for a person."""


class Shelf:
    """The models a page offers, by name: the one it was started with, and the catalogue's, opened when first asked for.

    A name in PRESETS means that preset; a folder that only shares its name goes by its path.
    """

    def __init__(self, model: Model) -> None:
        folders = {preset.folder.resolve(): name for name, preset in PRESETS.items()}
        own = str(model.folder) if model.name in PRESETS else model.name
        self.first = folders.get(model.folder.resolve(), own)
        self.opened = {self.first: model}

    def choices(self) -> list[tuple[str, str]]:
        """(title, name) pairs for a menu."""
        names = dict.fromkeys((self.first, *PRESETS))
        return [(PRESETS[name].title if name in PRESETS else self.opened[name].name, name) for name in names]

    def take(self, name: str) -> Model:
        """The model of this name. Raises PageError or ModelError."""
        if name not in self.opened:
            if name not in PRESETS:
                raise PageError(f"There is no model {name!r} here: take one of the menu's.")
            self.opened[name] = self.opened[self.first].sibling(PRESETS[name].folder)
        return self.opened[name]

    def cannot(self, name: str) -> str:
        """Why a recording of this model cannot be decoded on from here; "" if it can."""
        known = any(name == each for _, each in self.choices())
        return "" if known else f"This page does not have the recording's model, {name}."


def preset_of(name: str) -> dict[str, Any]:
    """The settings a model of the menu is shown with; empty if it is not in the catalogue."""
    return PRESETS[name].settings if name in PRESETS else {}


def encode(model: Model, prompt: str) -> list[int]:
    """Token ids of a prompt. Raises PageError, SettingsError, ModelError."""
    if len(prompt.strip()) > LONGEST_PROMPT:
        raise PageError(f"The prompt has {len(prompt.strip())} characters; this page takes up to {LONGEST_PROMPT}.")
    return model.encode(prompt)


def settings_of(values: dict[str, Any]) -> DecodeSettings:
    """Settings from widgets, whose whole numbers may arrive as floats. Raises SettingsError."""
    whole = {name: int(value) for name, value in values.items() if isinstance(value, float) and value.is_integer()}
    return DecodeSettings(**(values | whole))
