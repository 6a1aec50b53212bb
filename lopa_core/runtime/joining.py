"""What ranks must have in common to share a decode, compared before they do; and what of it an app and its workers must.

A rank with other weights, another dtype or other code would change texts in silence, or break the others off in the
middle of a collective. So each lays open a card, and all read all of them: whoever differs is named with what differs.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from ..model.errors import ModelError
from ..model.family import ModelConfig
from ..model.fingerprint import fingerprint
from ..model.source import Source
from .session import LocalModel

ROOMS = ("decode", "model", "runtime", "trace")  # packages whose code decides what ranks do
MEETING = 600.0  # seconds in which all ranks have to have loaded
Card = Mapping[str, str]


@cache
def code() -> str:
    """A short hash of the sources that ranks have to agree on."""
    root, told = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(each for room in ROOMS for each in (root / room).rglob("*.py")):
        told.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n"))
    return told.hexdigest()[:12]


def identity(source: Source, commit: str | None, config: ModelConfig) -> dict[str, str]:
    """What an app and its workers have in common. adapter: without its folder, which may be another one elsewhere."""
    adapter = Path(source.adapter).name if source.adapter else "none"
    told = {"this program's code": code(), "model": source.name, "adapter": adapter, "checkpoint commit": commit or "none"}
    told["rows predict"] = "the next slot (--shifted)" if config.shifted else "their own slot (--no-shifted)"
    shape = replace(config, shifted=False, notices=(), tied=False)  # the other two depend on what the weights' files are called
    return told | {"config.json": f"{zlib.crc32(repr(astuple(shape)).encode()):08x}"}


def setup(model: LocalModel, tensor: int) -> dict[str, str]:
    """What ranks have in common but for the weights themselves."""
    network = model.network
    told = {"torch": torch.__version__, "numpy": np.__version__, **identity(model.source, model.commit, model.config)}
    return told | {"device": network.device.type, "dtype": str(network.dtype).removeprefix("torch."), "--tensor": str(tensor)}


def agree(store: dist.Store, rank: int, ranks: int, model: LocalModel, tensor: int) -> None:
    """Compare cards through `store`, before any collective. Raises ModelError, on all ranks, where one of them differs."""
    mine = {"setup": setup(model, tensor), "weights": fingerprint(model.network)}
    store.set(f"card {rank}", json.dumps(mine))
    cards = [read(store, number) for number in range(ranks)]
    names = [f"rank {number}" for number in range(ranks)]
    differs = differences([card["setup"] for card in cards], names) or other_weights([card["weights"] for card in cards], names)
    if differs:
        raise ModelError(f"The ranks differ, so they cannot share a decode: {differs}. Start all of them with the same files and versions.")


def read(store: dist.Store, rank: int) -> dict[str, Any]:
    """The card of a rank. Raises ModelError where it does not come."""
    try:
        store.wait([f"card {rank}"], timedelta(seconds=MEETING))
    except RuntimeError:
        raise ModelError(f"Rank {rank} has not loaded its model within {MEETING:g} seconds: see its log.") from None
    return json.loads(store.get(f"card {rank}"))


def differences(cards: Sequence[Card], names: Sequence[str]) -> str:
    """Such as "dtype is bfloat16 on rank 1, but float32 on the others"; "" where the cards are the same."""
    told = []
    for topic in cards[0]:
        values = [card.get(topic, "unknown") for card in cards]
        if len(set(values)) > 1:
            told.append(f"{topic} is {' and '.join(grouped(values, names))}")
    return "; ".join(told)


def grouped(values: Sequence[str], names: Sequence[str]) -> list[str]:
    """Who has which value, the usual one last."""
    usual, count = Counter(values).most_common(1)[0]
    odd = {value: ", ".join(name for name, each in zip(names, values) if each == value) for value in values if value != usual}
    rest = "the others" if count > 1 else names[values.index(usual)]
    return [f"{value} on {who}" for value, who in odd.items()] + [f"{usual} on {rest}"]


def other_weights(cards: Sequence[Card], names: Sequence[str]) -> str:
    """Which ranks have other tensors than most, and which these are; "" where all have the same."""
    kinds = [tuple(sorted(card.items())) for card in cards]
    usual = Counter(kinds).most_common(1)[0][0]
    rest = "the others" if kinds.count(usual) > 1 else names[kinds.index(usual)]
    told = []
    for name, card in zip(names, cards):
        ours = dict(usual)
        odd = [each for each in {**ours, **card} if ours.get(each) != card.get(each)]
        if odd:
            more = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
            told.append(f"{name} has other weights than {rest} ({odd[0]}{more} of {len(ours)} tensors)")
    return "; ".join(told)
