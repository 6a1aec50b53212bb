"""`evaluate` as a user types it, with the embedded model on invented questions."""

import json

import pytest

from lopa_core.__main__ import main
from lopa_core.evaluation import container
from lopa_core.evaluation.run import FORMAT

from . import questions


@pytest.fixture
def call(capsys, tmp_path):
    """(exit code, standard output, standard error) of one evaluation of `asked`."""

    def call(asked, *argv, out="run.json"):
        data = questions.write(tmp_path / "questions.jsonl", asked)
        try:
            code = main(["evaluate", "--data", str(data), "--out", str(tmp_path / out), "--threads", "1", *map(str, argv)])
        except SystemExit as stop:
            code = stop.code
        seen = capsys.readouterr()
        return code, seen.out, seen.err

    return call


def test_word_problems_from_questions_to_report(call, tmp_path):
    code, out, _ = call(questions.GSM8K, "--task", "gsm8k", "--shots", 0, "--json")
    told = json.loads(out)
    assert code == 0 and (told["format"], told["task"], told["questions"]) == (FORMAT, "gsm8k", 3)
    assert told["accuracy"] == pytest.approx(200 / 3) and told["accuracy_low"] < told["accuracy"] < told["accuracy_high"]
    samples = [json.loads(line) for line in (tmp_path / "run.samples.jsonl").read_text().splitlines()[1:]]
    for name in ("rounds", "branch_forwards", "tokens"):
        assert told[name] == sum(each["metrics"][name] for each in samples)
    assert told["tpf"] == pytest.approx(told["tokens"] / told["rounds"])
    saved = json.loads((tmp_path / "run.json").read_text())
    assert saved == told | {"right": {"last number": [True, True, False]}}


def test_an_interrupted_evaluation_goes_on(call, tmp_path):
    flags = ["--task", "gsm8k", "--shots", 0, "--decoder", "confidence"]
    assert call(questions.GSM8K, *flags, "--limit", 2)[0] == 0
    before = (tmp_path / "run.samples.jsonl").read_text()
    code, _, error = call(questions.GSM8K, *flags)
    assert code == 2 and "--resume" in error
    code, out, _ = call(questions.GSM8K, *flags, "--resume", "--json")
    after = (tmp_path / "run.samples.jsonl").read_text()
    assert code == 0 and json.loads(out)["questions"] == 3 and after.startswith(before) and after.count("\n") == 4
    code, _, error = call(questions.GSM8K, *flags, "--resume", "--lookahead", 2, "--tau-conf", 0.8)
    assert code == 2 and "settings" in error


def test_programs_are_saved_and_judged_only_with_leave(call, tmp_path):
    flags = ["--task", "humaneval", "--max-new-tokens", 16]
    code, out, _ = call(questions.HUMAN_EVAL, *flags)
    assert code == 0 and "not judged" in out and "--allow-code-execution" in out
    solutions = [json.loads(line) for line in (tmp_path / "run.solutions.jsonl").read_text().splitlines()]
    assert [each["task_id"] for each in solutions] == ["HumanEval/0", "HumanEval/1"]
    assert all(each["solution"].startswith(asked["prompt"]) for each, asked in zip(solutions, questions.HUMAN_EVAL))
    code, out, _ = call(questions.HUMAN_EVAL, *flags, "--resume", "--allow-code-execution", "--trust-programs", "--json")
    assert code == 0 and json.loads(out)["accuracy"] == 0 and json.loads(out)["scores"].keys() == {"pass@1"}


def test_questions_that_cannot_be_scored_are_counted(call):
    asked = [questions.GSM8K[0], {"question": "How many?", "answer": "many"}, questions.GSM8K[1]]
    code, out, _ = call(asked, "--task", "gsm8k", "--shots", 0, "--json")
    told = json.loads(out)
    assert code == 0 and (told["questions"], told["left_out"]) == (2, 1)
    assert "Questions left out: 1. Question 2 is none of GSM8K" in told["notes"][0]


def test_mbpp_is_limited_to_tasks_it_is_tested_on(call):
    code, out, _ = call(questions.MBPP, "--task", "mbpp", "--shots", 1, "--limit", 1, "--max-new-tokens", 16, "--json")
    assert code == 0 and json.loads(out)["questions"] == 1 and json.loads(out)["accuracy"] is None


def test_word_problems_with_the_harness_s_examples(call):
    pytest.importorskip("lm_eval")
    code, out, _ = call(questions.GSM8K, "--task", "gsm8k", "--shots", 1, "--json")
    told = json.loads(out)
    assert code == 0 and told["questions"] == 3 and told["scores"].keys() == {"exact_match, flexible-extract", "exact_match, strict-match"}
    assert call(questions.GSM8K, "--task", "gsm8k", "--shots", 1, "--resume", "--json")[0] == 0


BAD = {
    "a file of another task": (questions.GSM8K, ["--task", "humaneval"], "none of HumanEval"),
    "a limit of 0": (questions.GSM8K, ["--task", "gsm8k", "--shots", 0, "--limit", 0], "--limit"),
    "too many examples": (questions.GSM8K, ["--task", "gsm8k", "--shots", 100], "between 0 and 64"),
    "examples where there are none": (questions.HUMAN_EVAL, ["--task", "humaneval", "--shots", 1], "without examples"),
    "the paper's length on a small model": (questions.GSM8K, ["--task", "gsm8k", "--shots", 0, "--paper"], "room for"),
    "workers and turns": (questions.GSM8K, ["--task", "gsm8k", "--shots", 0, "--in-flight", 100], "--in-flight"),
    "a model without a tokenizer": (
        questions.GSM8K,
        ["--task", "gsm8k", "--shots", 0, "--model", "tests/conformance/models/dream-a"],
        "no tokenizer",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence(call, name):
    asked, argv, says = BAD[name]
    code, _, error = call(asked, *argv)
    lines = [line for line in error.splitlines() if line.startswith("lopa_core: ")]
    assert code == 2 and len(lines) == 1 and says in lines[0] and "Traceback" not in error


@pytest.mark.parametrize(
    "asked, argv, package",
    [
        (questions.GSM8K, ["--task", "gsm8k"], "lm_eval"),
        (questions.MATH, ["--task", "math"], "lm_eval"),
        (questions.HUMAN_EVAL, ["--task", "humaneval+", "--max-new-tokens", 16, "--allow-code-execution", "--trust-programs"], "evalplus"),
    ],
)
def test_a_missing_package_is_one_sentence(call, monkeypatch, asked, argv, package):
    monkeypatch.setattr("lopa_core.evaluation.errors.find_spec", lambda name: None)
    code, _, error = call(asked, *argv)
    assert code == 2 and f"needs {package}, which is not installed: pip install" in error and "Traceback" not in error


def test_without_a_network_one_sentence(capsys, tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")

    def unreachable(*_, **__):
        raise ConnectionError("Couldn't reach 'openai/gsm8k' on the Hub\nand more")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    assert main(["evaluate", "--task", "gsm8k", "--shots", "0", "--out", str(tmp_path / "run.json")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "check the network, or give --data FILE" in error


def test_without_a_container_programs_run_only_if_they_are_trusted(call, monkeypatch):
    monkeypatch.setattr(container, "missing", lambda: "bwrap, of the package bubblewrap, is not installed")
    flags = ["--task", "humaneval", "--max-new-tokens", 16, "--allow-code-execution"]
    code, _, error = call(questions.HUMAN_EVAL[:1], *flags)
    assert code == 2 and "install or allow bubblewrap, or give --trust-programs" in error and "Traceback" not in error
    code, out, _ = call(questions.HUMAN_EVAL[:1], *flags, "--trust-programs", "--json")
    assert code == 0 and json.loads(out)["scores"].keys() == {"pass@1"} and "no container" in json.loads(out)["notes"][0]
    code, _, error = call(questions.HUMAN_EVAL[:1], "--task", "humaneval", "--trust-programs")
    assert code == 2 and "give --allow-code-execution as well" in error
