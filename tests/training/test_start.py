"""A training that begins with another model's weights: the same layers, embeddings matched by the text of their tokens."""

from dataclasses import replace

import pytest
import torch
from tokenizers import Tokenizer

from lopa_core.model.checkpoint import load
from lopa_core.model.errors import ModelError
from lopa_core.model.family import read_config
from lopa_core.model.network import Transformer
from lopa_core.model.presets import DEFAULT, PRESETS
from lopa_core.training.start import take_over
from lopa_core.training.vocabulary import train_tokenizer

EMBEDDED = PRESETS[DEFAULT].folder


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(1536, 1)  # of another sample: most tokens are the shipped model's, under other numbers


def test_layers_are_copied_and_tokens_keep_their_rows(tokenizer):
    old, network = load(EMBEDDED), Transformer(read_config(EMBEDDED))
    known = take_over(network, tokenizer, EMBEDDED)
    assert 1200 < known <= 1536
    assert torch.equal(network.layers[3].down.weight, old.layers[3].down.weight) and torch.equal(network.norm.weight, old.norm.weight)
    theirs = Tokenizer.from_file(str(EMBEDDED / "tokenizer.json")).get_vocab()
    for token in ("Ġ=", " 17", "Ġboxes", "<|mask|>"):
        assert torch.equal(network.embed.weight[tokenizer.token_to_id(token)], old.embed.weight[theirs[token]]), token


def test_a_new_token_begins_with_the_mean_of_its_pieces(tokenizer):
    theirs = Tokenizer.from_file(str(EMBEDDED / "tokenizer.json"))
    old, network = load(EMBEDDED), Transformer(read_config(EMBEDDED))
    take_over(network, tokenizer, EMBEDDED)
    new = next(token for token in tokenizer.get_vocab() if token.startswith("Ġ") and token not in theirs.get_vocab())
    pieces = theirs.encode(tokenizer.decode([tokenizer.token_to_id(new)])).ids
    assert torch.allclose(network.embed.weight[tokenizer.token_to_id(new)], old.embed.weight[pieces].mean(dim=0))


def test_layers_of_another_shape_are_refused(tokenizer):
    config = read_config(EMBEDDED)
    smaller = Transformer(replace(config, ffn_size=64))
    with pytest.raises(ModelError, match="layers of another shape"):
        take_over(smaller, tokenizer, EMBEDDED)
