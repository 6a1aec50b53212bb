"""What a model's name means: a folder, an entry of the catalogue, or a repository of the Hub; and how it is shown and asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import hub, presets
from .backend import has_tokenizer
from .facts import fitted
from .family import ModelConfig, read_config
from .hub_progress import Progress
from .preset import Preset
from .tokenizer import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A model that may not be here yet.

    name: for menus, links and traces: its key in the catalogue, its Hub id, or its folder's name. where: folder or Hub id.
    prompt, template_arguments: as Tokenizer takes them. settings: of decode.settings.DecodeSettings, what suits it.
    shifted: as read_config takes it. notices: what was assumed of the checkpoint, in sentences; all that is assumed is known
    once its config.json is here, which is when settings and template_arguments are what its checkpoint tells.
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
    shifted: bool | None = None
    notices: tuple[str, ...] = ()

    def fetch(self, progress: Progress | None = None) -> Checkpoint:
        """Its files, loaded from the Hub where they are not here. Raises ModelError."""
        found = hub.find(self.where, revision=self.revision, progress=progress)
        adapter = hub.find_adapter(self.adapter, progress=progress).folder if self.adapter else None
        return Checkpoint(self.of(found.folder), found.folder, adapter, found.commit)

    def settle(self, progress: Progress | None = None) -> Source:
        """The same with what its checkpoint tells, before its weights are loaded; a repository of the Hub at its present commit.

        Raises ModelError.
        """
        found = hub.find(self.where, revision=self.revision, progress=progress, weights=False)
        return replace(self.of(found.folder), revision=found.commit)

    def of(self, folder: Path) -> Source:
        """The same with the facts of the checkpoint in `folder`, which count more than what is known by a name."""
        facts = fitted(read_config(folder, shifted=self.shifted), self.settings, self.template_arguments)
        notices = tuple(dict.fromkeys((*self.notices, *facts.notices)))
        return replace(self, settings=facts.settings, template_arguments=facts.template_arguments, notices=notices)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The files of a model, on this machine. commit: of the Hub's repository, if they come from one."""

    source: Source
    folder: Path
    adapter: Path | None = None
    commit: str | None = None

    def config(self) -> ModelConfig:
        return read_config(self.folder, shifted=self.source.shifted)

    def tokenizer(self) -> Tokenizer | None:
        """None where it has none: prompts are token ids then."""
        if not has_tokenizer(self.folder):
            return None
        return Tokenizer(self.folder, prompt=self.source.prompt, arguments=self.source.template_arguments)


def read_source(name: str | Path | None = None, adapter: str | Path | None = None, *, shifted: bool | None = None) -> Source:
    """What `name` means, by itself: nothing is loaded. None: the model that comes with the project.

    adapter: folder or Hub id of a peft LoRA. shifted: as read_config takes it. Raises ModelError for what is neither a folder
    nor like a Hub id.
    """
    adapter = None if adapter is None else str(adapter)
    name = presets.DEFAULT if name is None else name
    if Path(name).expanduser().is_dir():
        return of_folder(Path(name).expanduser(), adapter, shifted)
    plain, _, told = str(name).partition("@")
    preset = presets.find(plain) if adapter is None else with_adapter(plain, adapter)
    if preset:
        source = replace(of_preset(preset), shifted=shifted)
        return replace(source, name=str(name), title=f"{source.title} @ {told}", revision=told) if told else source
    repository, revision = hub.read_name(str(name), None)
    source = Source(name=str(name), title=str(name), where=repository, revision=revision, adapter=adapter, shifted=shifted)
    return replace(like_its_namesake(source, repository.rpartition("/")[2]), note="From the Hub.")


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


def like_its_namesake(source: Source, name: str) -> Source:
    """What the catalogue knows of a checkpoint of this name goes for another copy of it: a folder, or one of another
    organisation on the Hub. Its files cannot tell how it was asked in training."""
    preset = presets.namesake(name)
    if preset is None:
        return source
    notice = f"By its name this is taken for the catalogue's {preset.title}, for the settings and the kind of prompt that suit it."
    return replace(source, settings=preset.settings, prompt=preset.prompt, notices=(notice,))


def of_folder(folder: Path, adapter: str | None, shifted: bool | None) -> Source:
    """A folder that the catalogue knows is that entry; of another one its config.json tells how it was trained."""
    preset = next((each for each in presets.PRESETS.values() if each.folder.resolve() == folder.resolve()), None)
    if preset and adapter is None:
        return replace(of_preset(preset), shifted=shifted)
    name = repository_name(folder)
    shown = str(folder) if name in presets.CATALOGUE else name  # it only shares the name
    source = Source(name=shown, title=shown, where=folder, adapter=adapter, shifted=shifted, note="A checkpoint folder of this machine.")
    return like_its_namesake(source, name).of(folder)


def repository_name(folder: Path) -> str:
    """A folder's name; that of the repository, where it is a snapshot in the Hub's cache, which is called by its commit."""
    path = folder.resolve()
    return path.parents[1].name.rpartition("--")[2] if path.parent.name == "snapshots" else path.name
