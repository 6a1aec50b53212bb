"""peft LoRA adapters (D2F's are such), merged into the weights: W += scale * B A, in fp32, before any cast."""

from __future__ import annotations

import math
from contextlib import ExitStack
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor

from .errors import ModelError
from .files import read_object

_PREFIX = "base_model.model."


class Adapter:
    """The A and B matrices of an adapter by the key of the weight they change, and the scale they share."""

    def __init__(self, pairs: dict[str, dict[str, Tensor]], rank: int, scale: float) -> None:
        self.pairs, self.rank, self.scale, self.left = pairs, rank, scale, set(pairs)

    def merge(self, key: str, value: Tensor) -> Tensor:
        """`value` with the update for `key` added, in fp32; unchanged if the adapter has none."""
        if key not in self.pairs:
            return value
        self.left.discard(key)
        down, up = (self.pairs[key][name].float() for name in ("lora_A", "lora_B"))
        rows, *columns = value.shape
        if tuple(up.shape) != (rows, self.rank) or tuple(down.shape) != (self.rank, *columns):
            raise ModelError(f"The adapter's matrices for {key} do not fit its shape {tuple(value.shape)} and their rank {self.rank}.")
        return value.float() + self.scale * (up @ down)

    def check_all_used(self) -> None:
        if self.left:
            raise ModelError(f"The adapter changes {min(self.left)}, which the checkpoint does not have: they do not belong together.")


def read_adapter(folder: str | Path) -> Adapter:
    """Read adapter_config.json and adapter_model.safetensors. What would be ignored silently is refused."""
    folder = Path(folder)
    missing = f"{folder} holds no adapter_config.json: give the folder of a peft LoRA adapter."
    config = read_object(folder / "adapter_config.json", missing=missing)
    refuse_unsupported(config, folder)
    rank, alpha = config["r"], config["lora_alpha"]
    scale = alpha / math.sqrt(rank) if config.get("use_rslora") else alpha / rank
    return Adapter(read_pairs(folder / "adapter_model.safetensors"), rank, scale)


def refuse_unsupported(config: dict, folder: Path) -> None:
    """Raise ModelError for adapters whose effect is not B A alone."""
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if config.get("peft_type") != "LORA" or not isinstance(rank, int) or rank < 1 or not isinstance(alpha, (int, float)):
        raise ModelError(f"{folder} is not a LoRA adapter with a rank and an alpha.")
    unsupported = {
        "a bias": config.get("bias", "none") != "none" or config.get("lora_bias"),
        "DoRA": config.get("use_dora"),
        "modules_to_save": config.get("modules_to_save"),
        "a rank or alpha per layer": config.get("rank_pattern") or config.get("alpha_pattern"),
        "fan_in_fan_out": config.get("fan_in_fan_out"),
    }
    for name, found in unsupported.items():
        if found:
            raise ModelError(f"The adapter in {folder} uses {name}, which cannot be merged here.")


def read_pairs(path: Path) -> dict[str, dict[str, Tensor]]:
    """{weight key: {"lora_A": [r, in], "lora_B": [out, r]}}; peft's `.default.` infix is accepted."""
    pairs: dict[str, dict[str, Tensor]] = {}
    try:
        with ExitStack() as opened:
            file = opened.enter_context(safe_open(path, framework="pt"))
            for key in file.keys():
                name, _, kind = key.removesuffix(".weight").removesuffix(".default").rpartition(".")
                if not name.startswith(_PREFIX) or kind not in ("lora_A", "lora_B"):
                    raise ModelError(f"{path} holds {key}, which is not a LoRA matrix.")
                pairs.setdefault(f"{name.removeprefix(_PREFIX)}.weight", {})[kind] = file.get_tensor(key)
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path} is missing, damaged or cut short: {error}.") from None
    for key, pair in pairs.items():
        if len(pair) != 2:
            raise ModelError(f"{path} lacks one of the two matrices for {key}.")
    return pairs
