"""A loaded checkpoint with everything needed to decode text: network, tokenizer, the name shown to people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..decode.settings import SettingsError
from ..model.checkpoint import load
from ..model.family import ModelConfig
from ..model.interface import Network
from ..model.prepack import prepack
from ..model.size import choose_dtype, parameters
from ..model.source import Checkpoint, read_source
from ..model.weights import Progress
from ..trace.trace import Trace
from .device import available, describe, memory, usable
from .local import LocalEngine, Workspace
from .race import Lanes, LocalRace, Race


class Model(ABC):
    """What a page and a command line need of a checkpoint, wherever its network runs.

    name: as in model.source.Source. tokenizer is None where the checkpoint has none: prompts are token ids then.
    hardware: in words.
    """

    hardware: str
    lent = False  # whether its device is lent anew for each race, which makes many short ones slow

    def __init__(self, checkpoint: Checkpoint, config: ModelConfig) -> None:
        self.source, self.commit, self.config = checkpoint.source, checkpoint.commit, config
        self.name, self.tokenizer = checkpoint.source.name, checkpoint.tokenizer()

    @abstractmethod
    def race(self, prompt: Sequence[int], lanes: Lanes, forced: Mapping[int, int] | None = None, *, warm: bool = True) -> Race:
        """Line up `lanes` on one prompt. Raises SettingsError for a prompt that cannot be decoded.

        forced: {round: branch} that wins there whatever the scores say. warm: whether warm-up rounds go first.
        """

    @property
    @abstractmethod
    def state(self) -> str:
        """Whether it works (ready, degraded), or what else it does."""

    @abstractmethod
    def health(self) -> dict[str, Any]:
        """`state`, and what runs it, asked of it."""

    @abstractmethod
    def wait(self) -> None:
        """Until it can be used. Raises ModelError if that will not be."""

    @abstractmethod
    def close(self) -> None:
        """Give back what it holds."""

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences on what was assumed of the checkpoint, left aside or taken otherwise than its files say."""
        return tuple(dict.fromkeys((*self.source.notices, *self.config.notices)))

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
                raise SettingsError(f"{self.name} has no tokenizer, so it takes token ids, such as 1 2 3 (--prompt-ids 1,2,3).")
            return [int(part) for part in text.replace(",", " ").split()]
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise SettingsError("The prompt is not valid UTF-8 text.") from None
        return self.tokenizer.encode_prompt(text)


class LocalModel(Model):
    """A model whose network lies in this process. static: as LocalEngine takes it."""

    static: bool | None = None

    def __init__(self, checkpoint: Checkpoint, network: Network, hardware: str) -> None:
        super().__init__(checkpoint, network.config)
        self.network, self.hardware = network, hardware
        self.spare: list[Workspace] = []

    @property
    def state(self) -> str:
        return "ready"

    def wait(self) -> None:
        """It is here already."""

    def close(self) -> None:
        """The end of the process gives everything back."""

    def race(self, prompt: Sequence[int], lanes: Lanes, forced: Mapping[int, int] | None = None, *, warm: bool = True) -> LocalRace:
        return LocalRace(self.engine, self.config, prompt, lanes, forced, warm)

    def release(self) -> None:
        """Give back what is kept between races."""
        self.spare.clear()
        torch.cuda.empty_cache()

    def engine(self) -> LocalEngine:
        return LocalEngine(self.network, self.static, self.spare)

    def health(self) -> dict[str, Any]:
        one = {"device": self.hardware, "answers": True, "memory": memory(self.network.device)}
        return {"state": self.state, "hardware": self.hardware, "dtype": str(self.network.dtype).removeprefix("torch."), "workers": [one]}


def open_model(
    checkpoint: Checkpoint | None = None,
    *,
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
    progress: Progress | None = None,
    whole: bool = True,
) -> LocalModel:
    """Load a checkpoint, None the embedded one, into this process. Raises ModelError with a sentence where it cannot be used.

    device: None takes a GPU if there is one. dtype: None takes what suits it and fits. progress: told (bytes done, bytes in all).
    whole: whether it runs as it is here, not cut up between ranks, and so may be laid out for this device (model/prepack.py).
    """
    checkpoint = checkpoint or read_source().fetch()
    place = usable(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    size = parameters(checkpoint.config())
    dtype = dtype or choose_dtype(size, available=available(place), kind=place.type)
    shifted = checkpoint.source.shifted
    network = load(checkpoint.folder, adapter=checkpoint.adapter, shifted=shifted, device=place, dtype=dtype, progress=progress)
    if whole:
        prepack(network)
    return LocalModel(checkpoint, network, describe(place))
