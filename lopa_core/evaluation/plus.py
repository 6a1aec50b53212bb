"""HumanEval+ and MBPP+ (EvalPlus, arXiv 2305.01210): evalplus' own comparison of outputs, run inside our sandbox.

The expected outputs are those of the benchmark's own solution, which runs in there as well.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from .benchmarks import Benchmark
from .documents import Document
from .errors import INSTALL, EvaluationError, need
from .sandbox import Limits, judge

LIMITS = Limits(seconds=90.0, cpu_seconds=80, memory=4 * 2**30)
# evalplus would fork; here its check runs in the process it is called in, with plain objects for what the two would share
PROGRAM = """
import json, os
os.environ["EVALPLUS_MAX_MEMORY_BYTES"] = "-1"  # the sandbox has limits of its own
from types import SimpleNamespace
from evalplus.config import DEFAULT_GT_TIME_LIMIT_FACTOR, DEFAULT_MIN_TIME_LIMIT
from evalplus.data.mbpp import mbpp_deserialize_inputs
from evalplus.eval import _SUCCESS, MBPP_OUTPUT_NOT_NONE_TASKS, unsafe_execute
from evalplus.gen.util import trusted_exec

task = json.loads({task!r})
entry, inputs = task["entry_point"], task["inputs"]
if task["dataset"] == "mbpp":
    inputs = mbpp_deserialize_inputs(task["task_id"], inputs)
not_none = task["dataset"] == "mbpp" and entry in MBPP_OUTPUT_NOT_NONE_TASKS
wanted, times = trusted_exec(task["known"], inputs, entry, record_time=True, output_not_none=not_none)
limits = [max(DEFAULT_MIN_TIME_LIMIT, DEFAULT_GT_TIME_LIMIT_FACTOR * each) for each in times]
state, done = SimpleNamespace(value=None), SimpleNamespace(value=0)
passed = [False] * len(inputs)
unsafe_execute(task["dataset"], entry, task["program"], inputs, wanted, limits, task["atol"], True, state, passed, done)
assert state.value == _SUCCESS and all(passed), "an output is wrong"
"""


def verdicts(
    benchmark: Benchmark, documents: Sequence[Document], programs: Sequence[str], *, trusted: bool = False
) -> dict[str, list[bool]]:
    """Whether each program is right on all inputs (the accuracy), and on those of the original benchmark.

    Raises EvaluationError where evalplus is not installed, or not where the sandbox has Python's packages.
    """
    need("evalplus", benchmark.title)
    trial = judge("import evalplus.eval", LIMITS, trusted=trusted)
    if not trial.passed:
        raise EvaluationError(f"{benchmark.title} needs evalplus inside the sandbox, where it cannot be imported ({trial.why}): {INSTALL}.")
    base = [passes(benchmark, document, program, document["base_input"], trusted) for document, program in zip(documents, programs)]
    more = [
        right and passes(benchmark, document, program, document["plus_input"], trusted)
        for right, document, program in zip(base, documents, programs)
    ]
    return {"plus": more, "base": base}


def passes(benchmark: Benchmark, document: Document, program: str, inputs: list, trusted: bool) -> bool:
    task = {
        "dataset": benchmark.key.rstrip("+"), "task_id": document["task_id"], "entry_point": document["entry_point"], "inputs": inputs,
        "known": document["prompt"] + document["canonical_solution"], "program": program, "atol": document.get("atol", 0),
    }  # fmt: skip
    return judge(PROGRAM.format(task=json.dumps(task)), LIMITS, trusted=trusted).passed
