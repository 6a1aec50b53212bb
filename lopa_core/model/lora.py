"""peft LoRA adapters (D2F's are such), merged into the weights: W += scale * B A, in fp32 or wider, before any cast."""

from __future__ import annotations

import math
from contextlib import ExitStack
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from .errors import ModelError
from .files import read_object, refuse_pointer

_PREFIX = "base_model.model."


class Adapter:
    """The A and B matrices of an adapter by the key of the weight they change, and the scale they share."""

    def __init__(self, pairs: dict[str, dict[str, Tensor]], rank: int, scale: float) -> None:
        self.pairs, self.rank, self.scale = pairs, rank, scale

    def check(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """Raise ModelError unless every pair changes a weight of these files and fits it."""
        for key, pair in self.pairs.items():
            if key not in shapes:
                raise ModelError(f"The adapter changes {key}, which the checkpoint does not have: they do not belong together.")
            rows, *columns = shapes[key]
            if tuple(pair["lora_B"].shape) != (rows, self.rank) or tuple(pair["lora_A"].shape) != (self.rank, *columns):
                raise ModelError(f"The adapter's matrices for {key} do not fit its shape {shapes[key]} and their rank {self.rank}.")

    def merge(self, key: str, value: Tensor) -> Tensor:
        """`value` with the update for `key` added, in fp32 or, if the file has more, in fp64."""
        wide = torch.promote_types(value.dtype, torch.float32)
        down, up = (self.pairs[key][name].to(wide) for name in ("lora_A", "lora_B"))
        return torch.add(value.to(wide), up @ down, alpha=self.scale)


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
    rank, alpha, kind = config.get("r"), config.get("lora_alpha"), config.get("peft_type")
    if kind != "LORA" or not isinstance(rank, int) or rank < 1 or not isinstance(alpha, (int, float)):
        raise ModelError(f"{folder} is not a LoRA adapter with a rank and an alpha: its peft_type is {kind!r}.")
    start = str(config.get("init_lora_weights")).lower()
    unsupported = {
        "a bias": config.get("bias", "none") != "none" or config.get("lora_bias"),
        "DoRA": config.get("use_dora"),
        "QALoRA": config.get("use_qalora"),
        "modules_to_save": config.get("modules_to_save"),
        "trainable tokens": config.get("trainable_token_indices"),
        "parameters as targets": config.get("target_parameters"),
        "copied layers": config.get("layer_replication"),
        "tokens that switch it on": config.get("alora_invocation_tokens"),
        "a rank or alpha per layer": config.get("rank_pattern") or config.get("alpha_pattern"),
        "fan_in_fan_out": config.get("fan_in_fan_out"),
        f"{start}, which changes the base model too": start.startswith(("pissa", "olora", "corda", "loftq")),
    }
    for name, found in unsupported.items():
        if found:
            raise ModelError(f"The adapter in {folder} uses {name}, which cannot be merged here.")


def read_pairs(path: Path) -> dict[str, dict[str, Tensor]]:
    """{weight key: {"lora_A": [r, in], "lora_B": [out, r]}}; peft's `.default.` infix is accepted."""
    pairs: dict[str, dict[str, Tensor]] = {}
    if path.exists():
        refuse_pointer(path)
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
