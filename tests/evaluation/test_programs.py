"""Prompts of programs, programs of answers, and their verdicts."""

import json

import pytest

from lopa_core.evaluation import programs
from lopa_core.evaluation.benchmarks import BENCHMARKS
from lopa_core.evaluation.errors import EvaluationError

from .questions import HUMAN_EVAL, MBPP
from .writers import Told

HUMAN, MOSTLY = BENCHMARKS["humaneval"], BENCHMARKS["mbpp"]


def test_a_continuation_is_judged_behind_its_prompt():
    writer = Told("    return x + x\n", "    return words[0]\n")
    scores = programs.run(HUMAN, HUMAN_EVAL, writer, execute=True, trusted=True)
    assert scores.right == {"pass@1": [True, False]}
    assert [each.prompt for each in writer.asked] == [each["prompt"] for each in HUMAN_EVAL]
    assert all("\ndef" in each.until for each in writer.asked)
    assert scores.solutions[0] == {"task_id": "HumanEval/0", "solution": HUMAN_EVAL[0]["prompt"] + "    return x + x\n"}


REPLIES = {
    "whole": ("Sure!\n```python\ndef double(x):\n    return 2 * x\n```\nIt doubles.", True),
    "whole, without an end": ("```\ndef double(x):\n    return 2 * x\n", True),
    "the rest": ("```python\n    return 2 * x\n```", True),
    "bare": ("    return 2 * x\n", True),
    "the first block counts": ("```python\ndef double(x):\n    return x\n```\n```python\ndef double(x):\n    return 2 * x\n```", False),
    "words": ("I would multiply it by two.", False),
    "nothing": ("", False),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_is_judged_by_its_first_block(name):
    text, right = REPLIES[name]
    writer = Told(text, chat=True)
    scores = programs.run(HUMAN, HUMAN_EVAL[:1], writer, execute=True, trusted=True)
    assert scores.right == {"pass@1": [right]}
    assert writer.asked[0].until == () and HUMAN_EVAL[0]["prompt"].strip() in writer.asked[0].prompt


def test_a_reply_keeps_the_imports_of_its_prompt():
    reply = "```\ndef longest(words: List[str]) -> str:\n    return max(words, key=len)\n```"
    scores = programs.run(HUMAN, HUMAN_EVAL[1:], Told(reply, chat=True), execute=True, trusted=True)
    assert scores.right == {"pass@1": [True]}


def test_mbpp_shows_its_own_examples_and_is_tested_on_its_own_tasks():
    examples, asked = programs.split(MBPP, 2)
    writer = Told("def increase(x):\n    return x + 1\n", "def triple(x):\n    return x\n")
    scores = programs.run(MOSTLY, asked, writer, examples, execute=True, trusted=True)
    assert scores.right == {"pass@1": [True, False]} and [each["task_id"] for each in scores.solutions] == ["Mbpp/11", "Mbpp/12"]
    prompt = writer.asked[0].prompt
    assert prompt.count("[BEGIN]\n") == 3 and prompt.count("\n[DONE]\n\n") == 2 and prompt.endswith("assert increase(0) == 1\n[BEGIN]\n")
    assert "def halve(x):\n  return x / 2\n[DONE]" in prompt and "negate" not in prompt and "\r" not in prompt
    assert writer.asked[0].until == ("[DONE]",)


def test_what_mbpp_lacks_is_said():
    with pytest.raises(EvaluationError, match="tasks 3, 4"):
        programs.split([each for each in MBPP if each["task_id"] not in (3, 4)], 3)
    with pytest.raises(EvaluationError, match="none of MBPP's tasks 11 to 510"):
        programs.split(MBPP[:3], 3)
    with pytest.raises(EvaluationError, match="--shots of 0 to 3"):
        programs.split(MBPP, 4)


def test_setup_code_comes_before_the_tests():
    task = MBPP[3] | {"test_setup_code": "start = 4"} | {"test_list": ["assert increase(start) == 5"]}
    assert programs.verdicts(MOSTLY, [task], ["def increase(x):\n    return x + 1"], trusted=True) == {"pass@1": [True]}


def test_without_leave_nothing_is_run(monkeypatch):
    monkeypatch.setattr(programs, "judge", lambda *_: pytest.fail("it was run"))
    scores = programs.run(HUMAN, HUMAN_EVAL, Told("", ""))
    assert scores.right == {} and "--allow-code-execution" in scores.notes[0] and len(scores.solutions) == 2


def test_limits_alone_are_told(monkeypatch):
    monkeypatch.setattr(programs, "check", lambda trusted: not trusted)
    assert "no container" in programs.run(HUMAN, [], Told(), execute=True, trusted=True).notes[0]
    assert not programs.run(HUMAN, [], Told(), execute=True).notes


def test_evalplus_reads_the_solutions(tmp_path):
    data = pytest.importorskip("evalplus.data.utils")
    scores = programs.run(HUMAN, HUMAN_EVAL, Told("a", "b"))
    path = tmp_path / "solutions.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in scores.solutions))
    assert [each["task_id"] for each in data.load_solutions(str(path))] == ["HumanEval/0", "HumanEval/1"]


@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_prompts_and_stop_strings_are_the_harness_s(name):
    lm_eval = pytest.importorskip("lm_eval")
    jinja2 = pytest.importorskip("jinja2")
    from pathlib import Path

    from lm_eval.tasks._yaml_loader import load_yaml

    task = load_yaml(Path(lm_eval.__file__).parent / "tasks" / name / f"{name}.yaml", resolve_func=False)  # its functions run programs
    render = jinja2.Template(task["doc_to_text"], keep_trailing_newline=True).render
    benchmark, document = BENCHMARKS[name], {"humaneval": HUMAN_EVAL[0], "mbpp": MBPP[3]}[name]
    assert programs.prompt(benchmark, document, (), chat=False) == render(document)
    assert programs.stops(benchmark) == tuple(task["generation_kwargs"]["until"]) and benchmark.shots == task["num_fewshot"]
    assert benchmark.repository == task["dataset_path"] and benchmark.parts[0] == task.get("dataset_name")
