"""A checkpoint folder -> a network, and back. Strict: every key is used once, every parameter is filled.

Pickled weights are never read. LoRA adapters are merged by lora.py while the weights are still in fp32.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from ..io.writing import make_folder, replacing, write_tensors
from .encoder import load_encoder
from .errors import ModelError, NoRoom
from .family import ModelConfig, read_config
from .interface import Network
from .lora import Adapter, read_adapter
from .naming import check_known, part_sizes, parts, tied_keys
from .network import Transformer
from .size import in_words, needed, parameters
from .weights import FLOATS, Progress, Reader, Stored, check_complete, same, select, stored


def load(
    folder: str | Path, *, adapter: str | Path | None = None, shifted: bool | None = None, dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu", progress: Progress | None = None,
) -> Network:  # fmt: skip
    """Read the checkpoint in `folder` (config.json, *.safetensors), merge `adapter` (a peft LoRA folder), cast, place.

    shifted: as read_config takes it. progress: told (bytes done, bytes in all) of the files now and then. What was left aside
    or taken otherwise than config.json has it stands in the network's config.notices.
    Raises ModelError with a sentence for a missing, extra or mis-shaped key, a damaged, pickled or quantised file, an
    adapter that does not fit, a device without room.
    """
    folder, device = Path(folder), torch.device(device)
    config = read_config(folder, shifted=shifted)
    if config.encoder and adapter:
        raise ModelError(f"{config.family} takes no adapter here: leave --adapter out, or merge it into the checkpoint first.")
    lora = read_adapter(adapter) if adapter else None
    found = stored(folder)
    config = examined(folder, config, found)
    with room(folder, config, dtype, device):
        if config.encoder:
            return load_encoder(folder, config, found, dtype, device, progress)
        return load_decoder(folder, config, found, lora, dtype, device, progress)


def examined(folder: Path, config: ModelConfig, found: dict[str, Stored]) -> ModelConfig:
    """`config` with what the weights' files add to it: notices, and a head of its own where they hold one."""
    notices = [*config.notices, *select(folder).notices]
    embedding, head = (found.get(key) for key in tied_keys(config))
    apart = config.tied and embedding and head and {embedding.dtype, head.dtype} <= FLOATS.keys() and not same(embedding, head)
    if apart:
        notices.append("config.json ties the head to the embedding, but the weights hold another head: it is used, as in transformers.")
    return replace(config, tied=config.tied and not apart, notices=tuple(notices))


def load_decoder(
    folder: Path, config: ModelConfig, found: dict[str, Stored], lora: Adapter | None, dtype: torch.dtype, device: torch.device,
    progress: Progress | None,
) -> Transformer:  # fmt: skip
    """The network is built without memory; each parameter is then made where it belongs and filled in place."""
    with torch.device("meta"):
        network = Transformer(config)
    shapes = file_shapes(network)
    check_complete(folder, found, shapes)
    reader = Reader(found, shapes, progress)
    check_known(config, found.keys() - shapes.keys())
    if lora:
        lora.check(shapes)
    for ours, theirs in parts(config).items():
        whole = torch.empty(network.get_parameter(ours).shape, dtype=dtype, device=device)
        for key, piece in zip(theirs, whole.split([shapes[key][0] for key in theirs])):
            reader.fill(piece, key, lora)
        place(network, ours, whole)
    if config.tied:
        network.head.weight = network.embed.weight
    return network.eval().requires_grad_(False)


def file_shapes(network: Transformer) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor that the files of this network hold."""
    shapes = {}
    for ours, theirs in parts(network.config).items():
        rows, *columns = network.get_parameter(ours).shape
        for key, share in zip(theirs, part_sizes(network.config, ours) or [rows], strict=True):
            shapes[key] = (share, *columns)
    return shapes


def place(network: Transformer, name: str, value: Tensor) -> None:
    """Put one parameter onto the meta-built network."""
    owner, _, leaf = name.rpartition(".")
    setattr(network.get_submodule(owner), leaf, torch.nn.Parameter(value, requires_grad=False))


@contextmanager
def room(folder: Path, config: ModelConfig, dtype: torch.dtype, device: torch.device) -> Iterator[None]:
    """Around what allocates a network: where there is no room for it, that is said in a sentence."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        full = isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "allocate memory" in str(error)
        if not full:
            raise
        count, name = parameters(config), str(dtype).removeprefix("torch.")
        narrower = f"--dtype bfloat16 ({in_words(needed(count, torch.bfloat16))}) or " if dtype.itemsize > 2 else ""
        raise NoRoom(
            f"{folder.name} needs about {in_words(needed(count, dtype))} in {name}, and {device} has no room for it: "
            f"take {narrower}a smaller model."
        ) from None


def export(network: Transformer, folder: str | Path, config_json: dict, *, dtype: torch.dtype = torch.bfloat16) -> None:
    """Write `network` in its family's own layout: config.json and model.safetensors (one file). Raises WriteError."""
    folder = Path(folder)
    make_folder(folder)
    tensors: dict[str, Tensor] = {}
    shapes = file_shapes(network)
    for ours, theirs in parts(network.config).items():
        value = network.get_parameter(ours).detach().to("cpu", dtype)
        pieces = value.split([shapes[key][0] for key in theirs])
        tensors |= {key: piece.contiguous() for key, piece in zip(theirs, pieces)}
    with replacing(folder / "config.json") as config, config.open("w", encoding="utf-8") as out:  # both are new, or none
        json.dump(config_json, out, indent=2)
        out.write("\n")
        out.flush()
        write_tensors(folder / "model.safetensors", tensors, {"format": "pt"})
