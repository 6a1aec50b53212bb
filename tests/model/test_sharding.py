"""Tensor parallelism over two and four processes: the same hidden rows and logits as on one device, each with its share."""

from copy import deepcopy

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from lopa_core.model.cache import Cache
from lopa_core.model.errors import ModelError
from lopa_core.model.sharding import shard

from ..helpers.models import conformance_network
from ..helpers.ranks import Ranks

CPU = torch.device("cpu")
TOKENS = torch.randint(0, 500, (3, 12), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module", params=[2, 4])
def ranks(request):
    """Processes whose group is all of them: some of what torch does for a mesh goes over the whole world."""
    started = Ranks(request.param)
    yield request.param, started
    started.close()


def compare(group, name):
    """(largest difference of logits in two forwards over a cache, this rank's share of the parameters)."""
    whole = conformance_network(name, dtype=torch.float64)
    spread = deepcopy(whole)
    shard(spread, DeviceMesh.from_group(group, "cpu"), CPU)
    with torch.inference_mode():
        told = []
        for network in (whole, spread):
            cache = Cache(network.config, rows=3, length=12, device=CPU, dtype=torch.float64, kv_heads=network.kv_heads)
            first = network.head(network(TOKENS[:, :8], cache=cache))
            told.append((first, network.head(network(TOKENS[:, 8:], start=8, cache=cache))))
        differences = [float((a - b).abs().max()) for a, b in zip(*told)]
    mine = sum((each.to_local() if hasattr(each, "to_local") else each).numel() for each in spread.parameters())
    return max(differences), mine / sum(each.numel() for each in whole.parameters())


def refuse(group, name):
    with pytest.raises(ModelError, match="cannot be spread over 4 devices"):
        shard(deepcopy(conformance_network(name)), DeviceMesh.from_group(group, "cpu"), CPU)
    dist.barrier(group)
    return True


def test_spread_layers_compute_what_whole_ones_do(ranks):
    count, started = ranks
    for name in ("dream-a", "llada-a") if count == 2 else ("llada-a",):
        for difference, share in started.run(count, compare, name):
            assert difference < 1e-9 and share < {2: 0.7, 4: 0.5}[count]  # the embedding is whole everywhere


def test_heads_that_cannot_be_divided_are_a_sentence(ranks):
    count, started = ranks
    if count == 2:
        pytest.skip("the two key/value heads of dream-a can be divided by 2")
    assert all(started.run(count, refuse, "dream-a"))
