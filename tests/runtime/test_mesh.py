"""Tensor parallel x branch parallel: two teams of two ranks, each team one copy of the network, give the same decode."""

from copy import deepcopy

import pytest
import torch
from torch.distributed.device_mesh import init_device_mesh

from lopa_core.decode.settings import DecodeSettings
from lopa_core.model.errors import ModelError
from lopa_core.model.sharding import shard
from lopa_core.model.source import read_source
from lopa_core.runtime.local import LocalEngine
from lopa_core.runtime.opening import Place, open_checkpoint
from lopa_core.runtime.parallel import ParallelEngine
from lopa_core.runtime.pooled import open_pool
from lopa_core.runtime.session import open_model
from lopa_core.trace.recorder import Recorder

from ..helpers.models import MODELS, conformance_network
from ..helpers.ranks import Ranks
from ..helpers.traces import PROMPT

CPU = torch.device("cpu")
SOURCE = read_source(MODELS / "dream-a")
SETTINGS = DecodeSettings(max_new_tokens=48, block_size=16, tau_add=0.3, lookahead=3, stop_at_eos=False)


@pytest.fixture(scope="module")
def ranks():
    started = Ranks(4)
    yield started
    started.close()


def decode_on_a_mesh(group, name, attention, lookahead):
    """(same tokens, same winners and fills, largest difference of scores, devices seen) against one process."""
    settings = DecodeSettings(max_new_tokens=48, block_size=16, tau_add=0.3, lookahead=lookahead, attention=attention, stop_at_eos=False)
    alone = Recorder(PROMPT, LocalEngine(conformance_network(name, dtype=torch.float64)), settings)
    alone.run()
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("branch", "tensor"))
    network = deepcopy(conformance_network(name, dtype=torch.float64))  # it is shared, and sharding is in place
    shard(network, mesh["tensor"], CPU)
    engine = ParallelEngine(LocalEngine(network), group, ("",) * 4, tensor=2, peers=mesh["branch"].get_group())
    spread = Recorder(PROMPT, engine, settings)
    spread.run()
    pairs = list(zip(alone.rounds, spread.rounds))
    same = all((a.winner, a.filled, len(a.branches)) == (b.winner, b.filled, len(b.branches)) for a, b in pairs)
    scores = [abs(u.score - v.score) for a, b in pairs for u, v in zip(a.branches, b.branches)]
    return spread.tokens == alone.tokens, same, max(scores), {span.device for each in spread.rounds for span in each.spans}


@pytest.mark.parametrize(("name", "attention", "lookahead"), [("dream-a", "full", 4), ("llada-a", "block_causal", 0)])
def test_a_mesh_decodes_what_one_process_does(ranks, name, attention, lookahead):
    for tokens, rounds, difference, devices in ranks.run(4, decode_on_a_mesh, name, attention, lookahead):
        assert tokens and rounds and difference < 1e-5
        assert devices == ({0, 1, 2, 3} if lookahead else {0, 1})


def test_workers_that_share_a_network():
    """Two of them, as --ranks 2 --tensor 2 starts them."""
    model = open_pool(SOURCE.fetch(), ranks=2, tensor=2, device="cpu", threads=1)
    try:
        model.wait()
        assert decided(model) == decided(open_model(SOURCE.fetch()))
    finally:
        model.close()


def decided(model):
    race = model.race(PROMPT, {"lopa": SETTINGS}, warm=False)
    return [(happened.winner, happened.filled) for _, happened in race.run() if happened], race.tapes["lopa"].tokens


@pytest.mark.parametrize(
    ("ranks", "tensor", "words"),
    [(3, 2, "3 ranks cannot be divided into teams of 2"), (0, 2, "also give --ranks, a multiple of 2"), (3, 3, "cannot be spread over 3")],
)
def test_teams_that_cannot_be_are_a_sentence(ranks, tensor, words):
    with pytest.raises(ModelError, match=words):
        open_checkpoint(SOURCE, Place(ranks=ranks, tensor=tensor, device="cpu"))
