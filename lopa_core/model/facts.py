"""How a checkpoint wants to be decoded: told by its files, else known by its name, else the custom of its family.

The same for a folder, a repository of the Hub and a copy of it under another name; what had to be assumed is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .family import FAMILIES, ModelConfig

USUAL_LENGTH = 128  # new tokens


@dataclass(frozen=True, slots=True)
class Facts:
    """settings: of decode.settings.DecodeSettings. template_arguments: as Tokenizer takes them. notices: sentences for people."""

    settings: Mapping[str, object]
    template_arguments: Mapping[str, object]
    notices: tuple[str, ...]


def fitted(config: ModelConfig, settings: Mapping[str, object], template_arguments: Mapping[str, object]) -> Facts:
    """What is known of a checkpoint by its name (settings, template_arguments), with what its files tell instead."""
    told = trained(config)
    notices = [
        f"config.json says {name} = {value!r}, which counts more than the catalogue's {settings[name]!r}."
        for name, value in told.items()
        if settings.get(name, value) != value
    ]
    chosen = {**usual(config), **settings, **told}
    if size := chosen.get("block_size") if config.attention == "block_causal" else None:
        chosen["max_new_tokens"] = -(-chosen.get("max_new_tokens", USUAL_LENGTH) // size) * size
    arguments = {**FAMILIES[config.family].template_arguments, **template_arguments}
    return Facts(chosen, arguments, (*notices, *assumptions(config, settings)))


def trained(config: ModelConfig) -> dict[str, object]:
    """The settings that config.json itself tells: block-causal attention, with its blocks where they are named."""
    if config.attention != "block_causal":
        return {}
    return {"attention": config.attention} | ({} if "block_size" in config.assumed else {"block_size": config.block_size})


def usual(config: ModelConfig) -> dict[str, object]:
    """The custom of its family where config.json is silent."""
    return {"block_size": config.block_size} if "block_size" in config.assumed else {}


def assumptions(config: ModelConfig, settings: Mapping[str, object]) -> list[str]:
    """What is assumed of a checkpoint, as neither its files nor `settings` tell it, and how to say otherwise."""
    sentences = {
        "shifted": f"A {config.family} checkpoint does not tell which slot a row predicts: its own is assumed, as in LLaDA; "
        "--shifted takes the next one, as in Dream.",
        "attention": f"A {config.family} checkpoint does not tell how it was trained: full attention is assumed; for one that was "
        "trained in blocks set attention to block_causal, and its block size.",
        "block_size": f"config.json names no block_size: {config.block_size} is assumed, as in the scripts of its authors.",
    }
    return [sentences[name] for name in config.assumed if name not in settings]
