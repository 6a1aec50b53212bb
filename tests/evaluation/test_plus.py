"""evalplus' comparison in our sandbox: on the inputs of the original benchmark, and on its own."""

import pytest

from lopa_core.evaluation import plus, programs
from lopa_core.evaluation.benchmarks import BENCHMARKS
from lopa_core.evaluation.errors import EvaluationError
from lopa_core.evaluation.sandbox import Verdict

from .questions import HUMAN_EVAL
from .writers import Told

SURPLUS = BENCHMARKS["humaneval+"]


def test_more_inputs_find_more_mistakes():
    pytest.importorskip("evalplus")
    scores = programs.run(SURPLUS, HUMAN_EVAL[:1], Told("    return x + x if x >= 0 else x\n"), execute=True, trusted=True)
    assert scores.right == {"plus": [False], "base": [True]} and next(iter(scores.right)) == "plus"


def test_a_right_program_passes_and_lists_become_what_mbpp_takes():
    pytest.importorskip("evalplus")
    # evalplus reads the inputs of this task as tuples
    task = HUMAN_EVAL[0] | {"task_id": "Mbpp/2", "entry_point": "both", "prompt": "", "base_input": [[[1], [2]]], "plus_input": []}
    task |= {"canonical_solution": "def both(a, b):\n    return a + b + (3,)\n"}
    assert plus.verdicts(BENCHMARKS["mbpp+"], [task], ["def both(a, b):\n    return (*a, *b, 3)"], trusted=True)["base"] == [True]


def test_leaving_early_is_not_passing():
    pytest.importorskip("evalplus")
    assert plus.verdicts(SURPLUS, HUMAN_EVAL[:1], ["import os\nos._exit(0)"], trusted=True) == {"plus": [False], "base": [False]}


def test_without_evalplus_one_sentence(monkeypatch):
    monkeypatch.setattr("lopa_core.evaluation.errors.find_spec", lambda name: None)
    with pytest.raises(EvaluationError, match=r'needs evalplus.*pip install "lm-eval\[math\]" evalplus'):
        plus.verdicts(SURPLUS, HUMAN_EVAL, ["", ""])


def test_a_sandbox_without_evalplus_is_one_sentence(monkeypatch):
    """Where its packages are not what this process sees, no verdict is made up."""
    pytest.importorskip("evalplus")
    monkeypatch.setattr(plus, "judge", lambda *_, **__: Verdict(False, "ModuleNotFoundError: No module named 'evalplus'"))
    with pytest.raises(EvaluationError, match="inside the sandbox, where it cannot be imported"):
        plus.verdicts(SURPLUS, HUMAN_EVAL[:1], ["pass"])
