"""The safetensors files of a folder, read straight to where each tensor belongs.

The library checks a file but does not read it for us: it maps files, and what was read of a mapping counts as this
process's memory, as much again as the network; faulting it in page by page is several times slower, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from .errors import ModelError
from .files import read_object
from .lora import Adapter

PIECE = 16 * 2**20  # bytes read at a time where they have to be cast or moved
FLOATS = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a tensor lies and how: dtype in the format's names, start and size in bytes of the file."""

    path: Path
    shape: tuple[int, ...]
    dtype: str
    start: int
    size: int


def stored(folder: Path) -> dict[str, Stored]:
    """Every tensor of the folder's safetensors files. Raises ModelError for a damaged, missing or pickled one."""
    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        pickled = [path.name for ending in ("*.bin", "*.pt", "*.pth") for path in folder.glob(ending)]
        why = f" {pickled[0]} is a pickle, which can run code and is not read." if pickled else ""
        raise ModelError(f"{folder} holds no .safetensors file.{why}")
    found: dict[str, Stored] = {}
    for path in paths:
        for key, tensor in contents(path).items():
            if key in found:
                raise ModelError(f"{path} holds {key} a second time.")
            found[key] = tensor
    check_index(folder, found)
    return found


def contents(path: Path) -> dict[str, Stored]:
    """The tensors of one file: eight bytes tell the length of a JSON header, which the library has found to be right."""
    try:
        with safe_open(path, framework="pt"), path.open("rb") as file:
            begin = 8 + int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(begin - 8))
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path} is damaged or cut short: {error}.") from None
    header.pop("__metadata__", None)
    places = {key: (begin + start, end - start) for key, (start, end) in ((key, told["data_offsets"]) for key, told in header.items())}
    return {key: Stored(path, tuple(told["shape"]), told["dtype"], *places[key]) for key, told in header.items()}


def check_index(folder: Path, found: dict[str, Stored]) -> None:
    """A sharded checkpoint's index names every key; a shard that is missing shows here, by name."""
    path = folder / "model.safetensors.index.json"
    if not path.exists():
        return
    absent = sorted({shard for key, shard in read_index(path).items() if key not in found})
    if absent:
        raise ModelError(f"{folder} is incomplete: {', '.join(absent)} is missing or lacks keys that the index names.")


def read_index(path: Path) -> dict[str, str]:
    """The file of every key, as the index of a sharded checkpoint names them. Raises ModelError where it is damaged."""
    named = read_object(path, missing=f"{path} is gone.").get("weight_map")
    if not isinstance(named, dict) or not all(isinstance(name, str) for name in named.values()):
        raise ModelError(f"{path} is damaged: it should hold a JSON object with a weight_map.")
    return named


class Reader:
    """Fills tensors from `found` files. All of them are checked first, so that nothing is allocated for what does not fit.

    shapes: of every tensor that is wanted, by its key. progress: told (bytes done, bytes in all) after each piece, as
    the files count them. Raises ModelError for a tensor that is missing, mis-shaped or quantised.
    """

    def __init__(self, found: dict[str, Stored], shapes: dict[str, tuple[int, ...]], progress: Progress | None = None) -> None:
        self.found, self.progress = found, progress
        for key, shape in shapes.items():
            self.check(key, shape)
        self.done, self.total = 0, sum(found[key].size for key in shapes)

    def check(self, key: str, shape: tuple[int, ...]) -> None:
        tensor = self.found.get(key)
        if tensor is None:
            raise ModelError(f"The checkpoint lacks {key}.")
        if tensor.dtype not in FLOATS:
            kind = tensor.dtype.replace("F8", "fp8 F8")
            raise ModelError(f"{key} is stored as {kind}; quantised weights are not supported: take the checkpoint in bfloat16.")
        if tensor.shape != shape:
            raise ModelError(f"{key} has shape {tensor.shape}, but config.json implies {shape}.")

    def fill(self, target: Tensor, key: str, lora: Adapter | None) -> None:
        """Write the tensor `key`, with the adapter's update if it has one, into `target` of the same shape, cast and moved."""
        tensor = self.found[key]
        merged = lora is not None and key in lora.pairs
        rows = len(target) if merged else max(1, PIECE * len(target) // tensor.size)
        with tensor.path.open("rb") as file:
            file.seek(tensor.start)
            for piece in target.split(rows):
                straight = not merged and piece.dtype == FLOATS[tensor.dtype] and piece.device.type == "cpu"
                values = piece if straight else torch.empty(piece.shape, dtype=FLOATS[tensor.dtype])
                size = file.readinto(values.view(torch.uint8).numpy())
                if size < values.nbytes:
                    raise ModelError(f"{tensor.path} has become shorter while it was read: fetch it anew.")
                if not straight:
                    piece.copy_(lora.merge(key, values) if merged else values)
                self.tell(size)

    def tell(self, size: int) -> None:
        """`size` more bytes are done."""
        self.done += size
        if self.progress:
            self.progress(self.done, self.total)
