"""Rules that ask for more than the plain record, on several ranks: the same tokens, or a sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lopa_core.decode.settings import DecodeSettings
from lopa_core.runtime.local import LocalEngine
from lopa_core.runtime.parallel import ParallelEngine

from ..helpers.models import conformance_network
from ..helpers.ranks import Ranks
from .test_parallel import Case, decoded

pytestmark = pytest.mark.timeout(300)

BASE = DecodeSettings(max_new_tokens=24, block_size=8, tau_conf=0.5, lookahead=3, stop_at_eos=False)
SHELF = {
    "entropy bound": {"selection": "entropy_bound", "entropy_bound": 1.0},
    "credit": {"credit_alpha": 0.7, "tau_add": 0.1},
    "credit, block causal": {"credit_alpha": 0.7, "attention": "block_causal"},
    "LEAP": {"selection": "leap", "leap_eta": 0.05, "leap_tau": 0.3, "tau_add": 0.1},
    "LEAP, block causal": {"selection": "leap", "leap_eta": 0.05, "leap_tau": 0.3, "tau_add": 0.1, "attention": "block_causal"},
    "drafts": {"selection": "one", "branching": "draft", "attention": "block_causal"},
    "pivot": {"branching": "pivot"},
    "reach of a block": {"reach": "block", "attention": "block_causal", "tau_add": 0.1},
    "reach of masks": {"reach": "masks", "attention": "block_causal", "tau_add": 0.1, "lookahead": 5},
    "adaptive LoPA": {"branching": "adaptive", "adaptive_sure": 0.2},
    "WINO": {"selection": "wino", "remask": "wino", "wino_tau": 0.2, "wino_keep": 0.6, "lookahead": 0},
    "Saber": {"selection": "saber", "remask": "saber", "lookahead": 0},
    "suffix of masks": {"suffix": "masks"},
    "cached suffix": {"suffix": "cached"},
    "Prophet": {"terminator": "prophet", "prophet_early": 1.0, "prophet_middle": 0.5, "prophet_late": 0.3},
    "KLASS without branches": {"selection": "klass", "klass_tau": 0.2, "klass_kl": 0.1, "lookahead": 0},
}


@pytest.fixture(scope="module")
def group():
    ranks = Ranks(3)
    yield ranks
    ranks.close()


def in_parallel(group, case):
    return decoded(ParallelEngine(LocalEngine(conformance_network(case.model)), group, ()), case)


def refused(group, case):
    try:
        in_parallel(group, case)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("model", ["dream-a", "llada-a"])
@pytest.mark.parametrize("name", SHELF)
def test_any_number_of_ranks_decodes_the_same(group, name, model):
    case = Case(model, replace(BASE, **SHELF[name]))
    wanted = decoded(LocalEngine(conformance_network(model)), case)
    scores = wanted.pop("scores")
    for ranks in (2, 3):
        for got in group.run(ranks, in_parallel, case):
            assert got.pop("scores") == pytest.approx(scores, abs=1e-5)
            assert got == wanted


def test_what_only_one_device_knows_is_refused_on_several(group):
    case = Case("dream-a", replace(BASE, selection="klass"))
    assert all("klass" in told and "--ranks 0" in told for told in group.run(2, refused, case))
    assert group.run(1, refused, case) == [""]
