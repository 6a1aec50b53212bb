"""How large a model is: parameters, bytes with room to work in, and the precision that a device has room for."""

from __future__ import annotations

from bisect import bisect_right

import torch

from .errors import NoRoom
from .family import ModelConfig

ROWS, LENGTH, MASKS = 8, 1024, 256  # LoPA at k = 7, prompt and answer; masked slots of all rows in one forward
LARGEST_VOCABULARY = 160_000  # Dream's and Qwen's, rounded up


def parameters(config: ModelConfig) -> int:
    """How many parameters a checkpoint of this config.json has; a head that is tied to the embedding counts once."""
    queries, keys = config.heads * config.head_dim, config.kv_heads * config.head_dim
    attention = config.hidden_size * (2 * queries + 2 * keys) + (queries + 2 * keys) * config.qkv_bias
    feed_forward = 3 * config.hidden_size * config.ffn_size
    norms = 2 * config.hidden_size + 2 * config.head_dim * config.qk_norm
    embeddings = config.vocab_size * config.hidden_size * (1 if config.tied else 2)
    # ModernBERT's head: a matrix and a norm before the embedding, a bias behind it
    head = config.hidden_size**2 + config.hidden_size + config.vocab_size if config.encoder else 0
    return embeddings + config.layers * (attention + feed_forward + norms) + config.hidden_size + head


def needed(parameters: int, dtype: torch.dtype) -> int:
    """Bytes that a model of so many parameters takes in `dtype`: its weights and the room to decode a usual prompt.

    A bound from the count alone, so that it can be told before anything is loaded. L layers of width h have about
    12 L h**2 parameters and remember 2 L h keys and values per token (fewer with grouped queries); with the usual
    h = 128 L that is 256 L**2 per token, for ROWS branches of LENGTH tokens. The logits of MASKS masked slots are there
    three times in fp32 (themselves, their softmax, one passing value); the vocabulary's matrix is at most half of the
    parameters. Activations of a window are hundreds of times smaller than its layers' weights, and within these bounds.
    """
    if not parameters:
        return 0
    layers = (parameters / (12 * 128**2)) ** (1 / 3)
    remembered = ROWS * LENGTH * 256 * layers**2 * dtype.itemsize
    vocabulary = min(LARGEST_VOCABULARY, parameters / (2 * 128 * layers))
    return int(parameters * dtype.itemsize + remembered + MASKS * vocabulary * 3 * torch.float32.itemsize)


def choose_dtype(parameters: int, *, available: int, kind: str) -> torch.dtype:
    """The precision for a device of this kind ("cpu", "cuda", ...) with `available` bytes free.

    bf16 on a GPU. fp32 on a CPU, where bf16 is slower, and bf16 there if only that fits. Raises NoRoom where nothing does.
    """
    narrow, wide = torch.bfloat16, torch.float32
    for dtype in (wide, narrow) if kind == "cpu" else (narrow,):
        if needed(parameters, dtype) <= available:
            return dtype
    device, elsewhere = ("machine", "") if kind == "cpu" else ("GPU", " --device cpu,")
    raise NoRoom(
        f"A model of {count_in_words(parameters)} parameters needs about {in_words(needed(parameters, narrow))} in bfloat16, but this "
        f"{device} has {in_words(available)} free: take a model of at most {count_in_words(largest(available, narrow))} parameters,"
        f"{elsewhere} or --dtype bfloat16 to try all the same."
    )


def largest(available: int, dtype: torch.dtype) -> int:
    """The most parameters whose model `available` bytes hold, rounded down to two digits."""
    fits = bisect_right(range(available // dtype.itemsize + 1), available, key=lambda count: needed(count, dtype)) - 1
    step = 10 ** max(0, len(str(fits)) - 2)
    return fits // step * step


def in_words(size: int) -> str:
    """Bytes for people: 15.2 GB, 340 MB; decimal, as the Hub and disks count."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


def count_in_words(parameters: int) -> str:
    """Parameters for people: 7.6B, 751M, 4.8M."""
    if parameters >= 1e9:
        return f"{parameters / 1e9:.1f}B"
    return f"{parameters / 1e6:.0f}M" if parameters >= 1e7 else f"{parameters / 1e6:.1f}M"
