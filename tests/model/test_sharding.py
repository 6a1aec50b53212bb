"""Tensor parallelism over two processes: the same hidden rows and logits as on one device, each with its share."""

from copy import deepcopy

import pytest
import torch
from torch.distributed.device_mesh import DeviceMesh

from lopa_core.model.errors import ModelError
from lopa_core.model.family import parse_config
from lopa_core.model.sharding import check_divisible, shard

from ..helpers.models import conformance_network, qwen3_config, random_network
from ..helpers.ranks import Ranks

CPU = torch.device("cpu")
QWEN3 = qwen3_config(vocab_size=64, num_attention_heads=8, num_key_value_heads=4, head_dim=6)
TOKENS = torch.randint(0, 60, (3, 12), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def ranks():
    """Processes whose group is all of them: some of what torch does for a mesh goes over the whole world."""
    started = Ranks(2)
    yield started
    started.close()


def compare(group, name):
    """(largest difference of logits in two forwards over a cache, this rank's share of the parameters)."""
    whole = random_network(QWEN3) if name == "qwen3" else conformance_network(name, dtype=torch.float64)
    spread = deepcopy(whole)
    shard(spread, DeviceMesh.from_group(group, "cpu"), CPU)
    with torch.inference_mode():
        told = []
        for network in (whole, spread):
            cache = network.new_cache(rows=3, length=12)
            first = network.head(network(TOKENS[:, :8], cache=cache))
            told.append((first, network.head(network(TOKENS[:, 8:], start=8, cache=cache))))
        differences = [float((a - b).abs().max()) for a, b in zip(*told)]
    mine = sum((each.to_local() if hasattr(each, "to_local") else each).numel() for each in spread.parameters())
    return max(differences), mine / sum(each.numel() for each in whole.parameters())


def test_spread_layers_compute_what_whole_ones_do(ranks):
    for name in ("dream-a", "llada-a", "qwen3"):
        for difference, share in ranks.run(2, compare, name):
            assert difference < 1e-9 and share < 0.7  # the embedding is whole everywhere


def test_heads_that_cannot_be_divided_are_a_sentence():
    with pytest.raises(ModelError, match="2 key/value heads cannot be spread over 4 devices"):
        check_divisible(conformance_network("dream-a").config, 4)


def test_an_encoder_is_not_spread():
    config = parse_config(qwen3_config(model_type="modernbert"))
    check_divisible(config, 1)
    with pytest.raises(ModelError, match="modernbert cannot be spread over 2 devices"):
        check_divisible(config, 2)
