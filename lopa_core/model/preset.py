"""What the catalogue knows of one model."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """A model and how it is shown. It lies in `folder`, or on the Hub.

    hub, adapter: Hub ids of the checkpoint and of the LoRA that is merged into it. revision: a commit or branch of the
    checkpoint, None the default branch. family: a name of model.family. parameters: how many. licence: of the weights, None if
    none was seen. prompt, template_arguments: as model.tokenizer.Tokenizer takes them. settings: values of
    decode.settings.DecodeSettings, the others at their defaults; source: who chose them. note: what it is good at.
    """

    key: str
    title: str
    note: str
    family: str
    parameters: int
    licence: str | None
    hub: str | None = None
    revision: str | None = None
    adapter: str | None = None
    folder: Path | None = None
    prompt: str = "chat"
    template_arguments: dict[str, object] = field(default_factory=dict)
    settings: dict[str, object] = field(default_factory=dict)
    source: str = "ours"
    unverified: tuple[str, ...] = ()
