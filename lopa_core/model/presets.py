"""Looking up the catalogue of models: by key, by Hub id, by folder."""

from __future__ import annotations

from .catalogue import CATALOGUE
from .preset import Preset
from .published import PUBLISHED

__all__ = ["CATALOGUE", "DEFAULT", "PRESETS", "PUBLISHED", "Preset", "find", "namesake"]

DEFAULT = "lopa-tiny"
PRESETS = {key: preset for key, preset in CATALOGUE.items() if preset.folder}  # what needs no download


def find(name: str) -> Preset | None:
    """The model with this key or Hub id, however it is capitalised; of several on one Hub id the one without an adapter."""
    wanted = name.strip().casefold()
    return next((each for each in CATALOGUE.values() if wanted in names(each)), None)


def namesake(name: str) -> Preset | None:
    """The plain model whose repository on the Hub has this name, in whichever organisation."""
    wanted = name.casefold()
    plain = (each for each in CATALOGUE.values() if each.hub and each.adapter is None)
    return next((each for each in plain if each.hub.rpartition("/")[2].casefold() == wanted), None)


def names(preset: Preset) -> set[str]:
    plain = preset.hub if preset.adapter is None else None
    return {name.casefold() for name in (preset.key, plain) if name}
