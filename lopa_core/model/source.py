"""What a model's name means: a folder, an entry of the catalogue, or a repository of the Hub; and how it is shown and asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import hub, presets
from .backend import has_tokenizer
from .family import ModelConfig, read_config
from .hub_progress import Progress
from .preset import Preset
from .tokenizer import Tokenizer

USUAL_LENGTH = 128  # new tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A model that may not be here yet.

    name: for menus, links and traces: its key in the catalogue, its Hub id, or its folder's name. where: folder or Hub id.
    prompt, template_arguments: as Tokenizer takes them. settings: of decode.settings.DecodeSettings, what suits it.
    """

    name: str
    title: str
    where: str | Path
    revision: str | None = None
    adapter: str | None = None
    note: str = ""
    prompt: str = "chat"
    template_arguments: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)

    def fetch(self, progress: Progress | None = None) -> Checkpoint:
        """Its files, loaded from the Hub where they are not here. Raises ModelError."""
        found = hub.find(self.where, revision=self.revision, progress=progress)
        adapter = hub.find_adapter(self.adapter, progress=progress).folder if self.adapter else None
        return Checkpoint(self, found.folder, adapter, found.commit)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The files of a model, on this machine. commit: of the Hub's repository, if they come from one."""

    source: Source
    folder: Path
    adapter: Path | None = None
    commit: str | None = None

    def config(self) -> ModelConfig:
        return read_config(self.folder)

    def tokenizer(self) -> Tokenizer | None:
        """None where it has none: prompts are token ids then."""
        if not has_tokenizer(self.folder):
            return None
        return Tokenizer(self.folder, prompt=self.source.prompt, arguments=self.source.template_arguments)


def read_source(name: str | Path | None = None, adapter: str | Path | None = None) -> Source:
    """What `name` means, by itself: nothing is loaded. None: the model that comes with the project.

    adapter: folder or Hub id of a peft LoRA. Raises ModelError for what is neither a folder nor like a Hub id.
    """
    adapter = None if adapter is None else str(adapter)
    name = presets.DEFAULT if name is None else name
    if Path(name).expanduser().is_dir():
        return of_folder(Path(name).expanduser(), adapter)
    preset = presets.find(str(name)) if adapter is None else with_adapter(str(name), adapter)
    if preset:
        return of_preset(preset)
    repository, revision = hub.read_name(str(name), None)
    return Source(name=str(name), title=str(name), where=repository, revision=revision, adapter=adapter, note="From the Hub.")


def with_adapter(name: str, adapter: str) -> Preset | None:
    """The catalogue's entry of this checkpoint with this adapter, or else that of the checkpoint with the adapter in its place."""
    plain = presets.find(name)
    if plain is None:
        return None
    pairs = (each for each in presets.CATALOGUE.values() if each.hub == plain.hub and each.adapter)
    known = next((each for each in pairs if each.adapter.casefold() == adapter.casefold()), None)
    return known or replace(plain, key=f"{plain.key}+{Path(adapter).name}", title=f"{plain.title} + {Path(adapter).name}", adapter=adapter)


def of_preset(preset: Preset) -> Source:
    shown = {"name": preset.key, "title": preset.title, "note": preset.note, "settings": preset.settings}
    asked = {"prompt": preset.prompt, "template_arguments": preset.template_arguments}
    return Source(where=preset.folder or preset.hub, revision=preset.revision, adapter=preset.adapter, **shown, **asked)


def of_folder(folder: Path, adapter: str | None) -> Source:
    """A folder that the catalogue knows is that entry; of another one its config.json tells how it was trained."""
    preset = next((each for each in presets.PRESETS.values() if each.folder.resolve() == folder.resolve()), None)
    if preset and adapter is None:
        return of_preset(preset)
    name = folder.resolve().name
    if name in presets.CATALOGUE:  # it only shares the name
        name = str(folder)
    settings, note = trained(read_config(folder)), "A checkpoint folder of this machine."
    return Source(name=name, title=name, where=folder, adapter=adapter, note=note, settings=settings)


def trained(config: ModelConfig) -> dict[str, object]:
    """The settings that follow from how a model was trained: block-causal attention, with its blocks where config.json tells."""
    if config.attention != "block_causal":
        return {}
    if config.block_size is None:
        return {"attention": "block_causal"}
    whole = -(-USUAL_LENGTH // config.block_size) * config.block_size
    return {"attention": "block_causal", "block_size": config.block_size, "max_new_tokens": whole}
