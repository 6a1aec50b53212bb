"""A loaded checkpoint with everything needed to decode text: network, tokenizer, the name shown to people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from ..decode.settings import SettingsError
from ..model.checkpoint import load
from ..model.network import Transformer
from ..model.presets import DEFAULT, PRESETS
from ..model.tokenizer import Tokenizer
from .device import describe, usable


@dataclass(frozen=True, slots=True)
class Model:
    """name: the folder's. tokenizer is None where the folder has none: prompts are token ids then."""

    name: str
    network: Transformer
    tokenizer: Tokenizer | None
    hardware: str
    folder: Path

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


def open_model(
    folder: str | Path = PRESETS[DEFAULT].folder,
    *,
    adapter: str | Path | None = None,
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
) -> Model:
    """Load a checkpoint folder. Raises ModelError with a sentence where it cannot be used.

    device: None takes a GPU if there is one. dtype: None takes bf16 on a GPU and fp32 on a CPU.
    """
    folder = Path(folder)
    place = usable(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    dtype = dtype or (torch.float32 if place.type == "cpu" else torch.bfloat16)
    network = load(folder, adapter=adapter, device=place, dtype=dtype)
    tokenizer = Tokenizer(folder) if (folder / "tokenizer.json").exists() else None
    return Model(folder.resolve().name, network, tokenizer, describe(place), folder)
