"""A loaded checkpoint with everything needed to decode text: network, tokenizer, the name shown to people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ..decode.settings import SettingsError
from ..model.checkpoint import load
from ..model.family import ModelConfig
from ..model.network import Transformer
from ..model.presets import DEFAULT, PRESETS
from ..model.tokenizer import Tokenizer
from ..trace.trace import Trace
from .device import describe, memory, usable
from .local import LocalEngine
from .race import Lanes, LocalRace, Race


class Model(ABC):
    """What a page and a command line need of a checkpoint, wherever its network runs.

    name: the folder's. tokenizer is None where the folder has none: prompts are token ids then. hardware: in words.
    """

    hardware: str

    def __init__(self, name: str, config: ModelConfig, tokenizer: Tokenizer | None, folder: Path) -> None:
        self.name, self.config, self.tokenizer, self.folder = name, config, tokenizer, folder

    @abstractmethod
    def race(self, prompt: Sequence[int], lanes: Lanes, forced: Mapping[int, int] | None = None, *, warm: bool = True) -> Race:
        """Line up `lanes` on one prompt. Raises SettingsError for a prompt that cannot be decoded.

        forced: {round: branch} that wins there whatever the scores say. warm: whether warm-up rounds go first.
        """

    @abstractmethod
    def sibling(self, folder: Path) -> Model:
        """Another checkpoint, opened as this one was. Raises ModelError."""

    @abstractmethod
    def health(self) -> dict[str, Any]:
        """Whether it works (`state`: ready, or what else), and on what."""

    @abstractmethod
    def wait(self) -> None:
        """Until it can be used. Raises ModelError if that will not be."""

    @abstractmethod
    def close(self) -> None:
        """Give back what it holds."""

    def traces(self, race: Race, prompt: str) -> list[Trace]:
        """What has happened in a race so far, a trace per lane. prompt: the text that was encoded."""
        told = {"model": self.name, "prompt": prompt, "tokenizer": self.tokenizer, "hardware": self.hardware}
        return [tape.trace(decoder=name, **told) for name, tape in race.tapes.items()]

    def encode(self, text: str) -> list[int]:
        """Token ids of a prompt, the same for page and command line: without blanks around it, inside the template.

        A model without a tokenizer takes token ids with blanks or commas between them. Raises SettingsError.
        """
        text = text.strip()
        if not text:
            raise SettingsError("The prompt is empty: give at least one word.")
        if self.tokenizer is None:
            if not all(part.isdecimal() for part in text.replace(",", " ").split()):
                raise SettingsError(f"{self.name} has no tokenizer.json, so it takes token ids, such as 1 2 3 (--prompt-ids 1,2,3).")
            return [int(part) for part in text.replace(",", " ").split()]
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise SettingsError("The prompt is not valid UTF-8 text.") from None
        return self.tokenizer.encode_prompt(text)


class LocalModel(Model):
    """A model whose network lies in this process."""

    def __init__(self, name: str, network: Transformer, tokenizer: Tokenizer | None, hardware: str, folder: Path) -> None:
        super().__init__(name, network.config, tokenizer, folder)
        self.network, self.hardware = network, hardware

    def wait(self) -> None:
        """It is here already."""

    def close(self) -> None:
        """The end of the process gives everything back."""

    def race(self, prompt: Sequence[int], lanes: Lanes, forced: Mapping[int, int] | None = None, *, warm: bool = True) -> LocalRace:
        return LocalRace(lambda: LocalEngine(self.network), self.config, prompt, lanes, forced, warm)

    def sibling(self, folder: Path) -> LocalModel:
        weight = self.network.embed.weight
        return open_model(folder, device=weight.device, dtype=weight.dtype)

    def health(self) -> dict[str, Any]:
        weight = self.network.embed.weight
        one = {"device": self.hardware, "answers": True, "memory": memory(weight.device)}
        return {"state": "ready", "hardware": self.hardware, "dtype": str(weight.dtype).removeprefix("torch."), "workers": [one]}


def open_model(
    folder: str | Path = PRESETS[DEFAULT].folder,
    *,
    adapter: str | Path | None = None,
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
) -> LocalModel:
    """Load a checkpoint folder. Raises ModelError with a sentence where it cannot be used.

    device: None takes a GPU if there is one. dtype: None takes bf16 on a GPU and fp32 on a CPU.
    """
    folder = Path(folder)
    place = usable(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    dtype = dtype or (torch.float32 if place.type == "cpu" else torch.bfloat16)
    network = load(folder, adapter=adapter, device=place, dtype=dtype)
    return LocalModel(folder.resolve().name, network, find_tokenizer(folder), describe(place), folder)


def find_tokenizer(folder: Path) -> Tokenizer | None:
    """The folder's tokenizer, if it has one."""
    return Tokenizer(folder) if (folder / "tokenizer.json").exists() else None
