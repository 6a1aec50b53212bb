"""What the official code decoded, token for token: 176 cases in tests/conformance (how they were made: its README)."""

from collections import defaultdict

import pytest
import torch

from lopa_core.bench.verify import compare, read_cases, run, verify
from lopa_core.runtime.local import LocalEngine

from ..helpers.models import CONFORMANCE, MODELS, conformance_network


def grouped():
    """{group: [(number in its file, case)]}: by file, model, adapter and decoder, so that a failure says where."""
    groups = defaultdict(list)
    for file in ("lopa", "d2f_llada"):
        for number, case in enumerate(read_cases(CONFORMANCE / f"{file}.json")):
            kind = f"{file}-{case['model']}{'-lora' * bool(case['lora'])}-{case['settings']['decoder']}"
            groups[kind].append((number, case))
    return dict(groups)


GROUPS = grouped()


def test_all_cases_are_here():
    assert sum(map(len, GROUPS.values())) == 176


@pytest.mark.parametrize("group", GROUPS)
def test_rounds_scores_and_ids_in_fp64(group):
    numbers, cases = zip(*GROUPS[group])
    differences = verify(list(cases), MODELS, dtype=torch.float64)
    assert {number: said for number, said in zip(numbers, differences, strict=True) if said} == {}


@pytest.mark.parametrize("group", GROUPS)
def test_ids_and_counts_in_fp32(group):
    """Without the scores: in fp32 two attention kernels differ by more than the cases' tolerance."""
    differences = {}
    for number, case in GROUPS[group]:
        engine = LocalEngine(conformance_network(case["model"], bool(case["lora"]), torch.float32))
        without_scores = {name: value for name, value in case.items() if name != "branches"}
        differences[number] = compare(without_scores, *run(engine, case))
    assert {number: said for number, said in differences.items() if said} == {}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda case: case["ids"].__setitem__(3, 7), "slot 3 holds token"),
        (lambda case: case["ids"].append(7), "slots is 64 instead of 65"),
        (lambda case: case.update(rounds=1), "instead of 1"),
        (lambda case: case.update(branch_forwards=2), "branch_forwards is"),
        (lambda case: case["branches"][2][0].update(score=9.0), "round 2: branch 0 scores"),
        (lambda case: case["branches"][1][-1].update(masks_left=0), "round 1: branch"),
        (lambda case: case["branches"][1].pop(), "branches instead of"),
        (lambda case: case["branches"][1][-1].update(anchor=False), "wrong kind"),
    ],
)  # fmt: skip
def test_a_case_that_differs_is_noticed(change, said):
    """Else the tests above could not fail."""
    case = next(case for case in read_cases(CONFORMANCE / "lopa.json") if "branches" in case and len(case["ids"]) == 64)
    assert next(verify([case], MODELS)) is None
    change(case)
    assert said in next(verify([case], MODELS))
