"""A folder of safetensors -> a network, and back. Strict: every key is used once, every parameter is filled.

Pickled weights are never read. LoRA adapters are merged by lora.py while the weights are still in fp32.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from .errors import ModelError
from .family import read_config
from .files import read_object
from .lora import Adapter, read_adapter
from .naming import part_sizes, parts
from .network import Transformer

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def load(
    folder: str | Path, *, adapter: str | Path | None = None, dtype: torch.dtype = torch.float32, device: str | torch.device = "cpu"
) -> Transformer:
    """Read the checkpoint in `folder` (config.json, *.safetensors), merge `adapter` (a peft LoRA folder), cast, place.

    The network is built without memory and filled one parameter at a time. Raises ModelError with a sentence
    for a missing, extra or mis-shaped key, a damaged or pickled file, an adapter that does not fit.
    """
    folder = Path(folder)
    config = read_config(folder)
    lora = read_adapter(adapter) if adapter else None
    with torch.device("meta"):
        network = Transformer(config)
    with ExitStack() as opened:
        files = Weights(folder, opened)
        for ours, theirs in parts(config).items():
            whole = network.get_parameter(ours).shape
            sizes = part_sizes(config, ours) or [whole[0]]
            pieces = [files.take(key, (rows, *whole[1:]), lora) for key, rows in zip(theirs, sizes, strict=True)]
            place(network, ours, torch.cat(pieces).to(torch.device(device), dtype))
        files.check_all_used(tied_head=config.tied)
    if lora:
        lora.check_all_used()
    if config.tied:
        network.head.weight = network.embed.weight
    return network.eval().requires_grad_(False)


def place(network: Transformer, name: str, value: Tensor) -> None:
    """Put one parameter onto the meta-built network."""
    owner, _, leaf = name.rpartition(".")
    setattr(network.get_submodule(owner), leaf, torch.nn.Parameter(value, requires_grad=False))


class Weights:
    """The safetensors files of a folder as one dictionary that keeps account of what was taken."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        paths = sorted(folder.glob("*.safetensors"))
        if not paths:
            pickled = [path.name for ending in ("*.bin", "*.pt", "*.pth") for path in folder.glob(ending)]
            why = f" {pickled[0]} is a pickle, which can run code and is not read." if pickled else ""
            raise ModelError(f"{folder} holds no .safetensors file.{why}")
        self.where: dict[str, object] = {}
        for path in paths:
            for key in (file := open_weights(path, opened)).keys():
                if key in self.where:
                    raise ModelError(f"{path} holds {key} a second time.")
                self.where[key] = file
        self.check_index(folder)
        self.left = set(self.where)

    def check_index(self, folder: Path) -> None:
        """A sharded checkpoint's index names every key; a shard that is missing shows here, by name."""
        path = folder / "model.safetensors.index.json"
        if not path.exists():
            return
        named = read_object(path, missing=f"{path} is gone.").get("weight_map")
        if not isinstance(named, dict):
            raise ModelError(f"{path} is damaged: it should hold a JSON object with a weight_map.")
        absent = sorted({shard for key, shard in named.items() if key not in self.where})
        if absent:
            raise ModelError(f"{folder} is incomplete: {', '.join(absent)} is missing or lacks keys that the index names.")

    def take(self, key: str, shape: tuple[int, ...], lora: Adapter | None) -> Tensor:
        """One tensor, its shape checked, with the adapter's update added in fp32."""
        if key not in self.where:
            raise ModelError(f"The checkpoint lacks {key}.")
        self.left.discard(key)
        value = self.where[key].get_tensor(key)
        if tuple(value.shape) != shape:
            raise ModelError(f"{key} has shape {tuple(value.shape)}, but config.json implies {shape}.")
        if value.dtype not in FLOATS:
            raise ModelError(f"{key} is stored as {str(value.dtype).removeprefix('torch.')}: quantised checkpoints are not supported.")
        return lora.merge(key, value) if lora else value

    def check_all_used(self, *, tied_head: bool) -> None:
        # files of tied models often store the shared matrix a second time as the head
        left = {key for key in self.left if not (tied_head and key == "lm_head.weight")}
        if left:
            raise ModelError(f"The checkpoint holds {len(left)} keys this network does not know, {min(left)} among them.")


def open_weights(path: Path, opened: ExitStack):
    """Open one safetensors file for the time of `opened`."""
    try:
        return opened.enter_context(safe_open(path, framework="pt"))
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path} is damaged or cut short: {error}.") from None


def export(network: Transformer, folder: str | Path, config_json: dict, *, dtype: torch.dtype = torch.bfloat16) -> None:
    """Write `network` in its family's own layout: config.json and model.safetensors (one file)."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, Tensor] = {}
    for ours, theirs in parts(network.config).items():
        value = network.get_parameter(ours).detach().to("cpu", dtype)
        sizes = part_sizes(network.config, ours)
        pieces = value.split(sizes) if sizes else (value,)
        tensors |= {key: piece.contiguous() for key, piece in zip(theirs, pieces)}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config_json, indent=2) + "\n", encoding="utf-8")
