"""The safetensors files of a folder, read straight to where each tensor belongs.

The library checks a file but does not read it for us: it maps files, and what was read of a mapping counts as this
process's memory, as much again as the network; faulting it in page by page is several times slower, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from .errors import ModelError
from .files import read_object, refuse_pointer
from .lora import Adapter

WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
ADAPTERS = ("adapter_", "pytorch_lora_weights")  # how the files of peft and diffusers begin
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


@dataclass(frozen=True, slots=True)
class Selection:
    """The files that hold a folder's weights. places: {key: file name} where an index names them. notices: on files left out."""

    paths: tuple[Path, ...]
    places: dict[str, str]
    notices: tuple[str, ...]


def select(folder: Path) -> Selection:
    """Which files are read, by transformers' rule: model.safetensors, else those of the index, else every one.

    Names that begin with a dot are sidecars of macOS and of editors; a LoRA adapter's weights are no part of a checkpoint.
    Raises ModelError where nothing is left.
    """
    here = {path.name: path for path in sorted(folder.glob("*.safetensors")) if not path.name.startswith(".")}
    adapters = [name for name in here if name.startswith(ADAPTERS)]
    others = [name for name in here if name not in adapters]
    whole, index = WHOLE in here, folder / INDEX
    places = read_index(index) if index.exists() else {}
    if whole:
        places = {}
    chosen = [WHOLE] if whole else [name for name in others if not places or name in places.values()]
    if not chosen:
        raise ModelError(nothing(folder, adapters, places))
    rest = [name for name in others if name not in chosen]
    read = WHOLE if whole else f"what {INDEX} names"
    notices = [f"As in transformers, {read} is read, and {listed(rest)} beside it not."] if rest else []
    if adapters:
        notices.append(f"{listed(adapters)} holds a LoRA adapter, no part of the model, and is left out: --adapter merges one.")
    return Selection(tuple(here[name] for name in chosen), places, tuple(notices))


def nothing(folder: Path, adapters: list[str], places: dict[str, str]) -> str:
    """The sentence for a folder without weights."""
    if places:
        return f"{folder} is incomplete: none of the files that its {INDEX} names is there."
    if adapters:
        return f"{folder} holds a LoRA adapter only ({adapters[0]}): give the model it belongs to, and this folder as --adapter."
    pickled = sorted(path.name for ending in ("*.bin", "*.pt", "*.pth") for path in folder.glob(ending) if not path.name.startswith("."))
    why = f" {pickled[0]} is a pickle, which can run code and is not read." if pickled else ""
    return f"{folder} holds no .safetensors file.{why}"


def listed(names: list[str]) -> str:
    """Names for people: the first of many."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def stored(folder: Path) -> dict[str, Stored]:
    """Every tensor of the folder's weights. Raises ModelError for a damaged, missing or pickled file."""
    selection = select(folder)
    found: dict[str, Stored] = {}
    for path in selection.paths:
        for key, tensor in contents(path).items():
            if key not in found or selection.places.get(key) == path.name:
                found[key] = tensor
            elif selection.places.get(key) != found[key].path.name:
                raise ModelError(f"{path} holds {key} a second time.")
    return found


def contents(path: Path) -> dict[str, Stored]:
    """The tensors of one file: eight bytes tell the length of a JSON header, which the library has found to be right."""
    refuse_pointer(path)
    try:
        with safe_open(path, framework="pt"), path.open("rb") as file:
            begin = 8 + int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(begin - 8))
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path} is damaged or cut short: {error}.") from None
    header.pop("__metadata__", None)
    places = {key: (begin + start, end - start) for key, (start, end) in ((key, told["data_offsets"]) for key, told in header.items())}
    return {key: Stored(path, tuple(told["shape"]), told["dtype"], *places[key]) for key, told in header.items()}


def check_complete(folder: Path, found: Collection[str], wanted: Iterable[str]) -> None:
    """Raise ModelError where `wanted` keys are in none of the files, by the name of the file that the index has them in.

    What an index names besides may be missing: some name a tied head that was never written.
    """
    places = select(folder).places
    absent = sorted({places[key] for key in wanted if key in places and key not in found})
    if absent:
        raise ModelError(f"{folder} is incomplete: {', '.join(absent)} is missing or lacks keys that the index names.")


def same(one: Stored, other: Stored) -> bool:
    """Whether two tensors hold the same numbers."""
    return one.shape == other.shape and all(torch.equal(*pair) for pair in zip(pieces(one), pieces(other)))


def pieces(tensor: Stored) -> Iterator[Tensor]:
    """The numbers of a tensor in fp64, a few at a time."""
    kind, few = FLOATS[tensor.dtype], PIECE // 8
    with tensor.path.open("rb") as file:
        file.seek(tensor.start)
        for begin in range(0, tensor.size, few * kind.itemsize):
            read = bytearray(file.read(min(few * kind.itemsize, tensor.size - begin)))
            yield torch.frombuffer(read, dtype=kind).double()


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
