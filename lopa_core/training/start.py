"""Begin with another model's weights: its layers as they are, its embeddings token by token, matched by their text."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer

from ..model.checkpoint import load
from ..model.errors import ModelError
from ..model.network import Transformer


@torch.no_grad()
def take_over(network: Transformer, tokenizer: Tokenizer, folder: Path) -> int:
    """Copy the weights of the model in `folder`; returns how many tokens it knew.

    A token that it did not know begins with the mean of its pieces in the old vocabulary, which is what the network
    has read so far where the new token stands. Raises ModelError for layers of another shape.
    """
    old, theirs = load(folder), Tokenizer.from_file(str(folder / "tokenizer.json"))
    names = dict(old.named_parameters())
    for name, value in network.named_parameters():
        if name == "embed.weight":
            continue
        if name not in names or names[name].shape != value.shape:
            raise ModelError(f"{folder} holds layers of another shape: give --layers, --hidden and --ffn of that model.")
        value.copy_(names[name])
    known, rows = theirs.get_vocab(), names["embed.weight"]
    for token, row in tokenizer.get_vocab().items():
        pieces = [known[token]] if token in known else theirs.encode(tokenizer.decode([row], skip_special_tokens=False)).ids
        network.embed.weight[row] = rows[pieces].mean(dim=0)
    return sum(token in known for token in tokenizer.get_vocab())
