"""Questions from files: what is taken, and one sentence for what is not."""

import json

import pytest

from lopa_core.evaluation.benchmarks import BENCHMARKS
from lopa_core.evaluation.documents import read_documents
from lopa_core.evaluation.errors import EvaluationError
from lopa_core.model.published import PUBLISHED

from . import questions

FILES = {
    "gsm8k": questions.GSM8K, "math": questions.MATH, "humaneval": questions.HUMAN_EVAL, "mbpp": questions.MBPP,
    "humaneval+": questions.HUMAN_EVAL, "mbpp+": questions.HUMAN_EVAL,
}  # fmt: skip


@pytest.mark.parametrize("key", BENCHMARKS)
def test_a_file_in_the_dataset_s_format_is_read_as_it_is(key, tmp_path):
    path = questions.write(tmp_path / "q.jsonl", FILES[key])
    path.write_text(path.read_text() + "\n  \n")
    assert read_documents(BENCHMARKS[key], path) == FILES[key]


@pytest.mark.parametrize("key", BENCHMARKS)
def test_the_paper_s_settings_are_table_5(key):
    table = {"gsm8k": (32, 0.1, 0.95, 0.9, 14), "math": (16, 0.1, 0.95, 0.9, 7)}.get(key, (32, 0.3, 0.95, 0.95, 7))
    paper = BENCHMARKS[key].paper
    assert tuple(paper[name] for name in ("block_size", "tau_add", "tau_act", "tau_conf", "lookahead")) == table
    assert paper["max_new_tokens"] % paper["block_size"] == 0 and BENCHMARKS[key].published in PUBLISHED


BAD = {
    "no JSON": ("{", "JSON lines"),
    "nested too deeply": ("[" * 100_000, "JSON lines"),
    "no object": ("[1]", "Question 1 is no JSON object"),
    "another dataset": (json.dumps({"prompt": "x"}), "no question"),
    "a number for a text": (json.dumps({"question": 3, "answer": "#### 3"}), "no question that is a text"),
    "half a surrogate pair": ('{"question": "\\ud800", "answer": "#### 3"}', "not valid Unicode"),
    "no answer": (json.dumps({"question": "?", "answer": "three"}), "####"),
    "nothing": ("\n\n", "no questions"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_none_is_refused_in_one_sentence(name, tmp_path):
    text, says = BAD[name]
    path = tmp_path / "q.jsonl"
    path.write_text(text)
    with pytest.raises(EvaluationError, match=says) as error:
        read_documents(BENCHMARKS["gsm8k"], path)
    assert "\n" not in str(error.value)


def test_a_missing_and_a_packed_file(tmp_path):
    with pytest.raises(EvaluationError, match="No such file"):
        read_documents(BENCHMARKS["gsm8k"], tmp_path / "none.jsonl")
    (tmp_path / "q.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00\xff")
    with pytest.raises(EvaluationError, match="unpack it"):
        read_documents(BENCHMARKS["gsm8k"], tmp_path / "q.jsonl.gz")


def test_evalplus_questions_come_from_a_file():
    with pytest.raises(EvaluationError, match="HumanEvalPlus.jsonl or MbppPlus.jsonl as --data"):
        read_documents(BENCHMARKS["humaneval+"])


BOXES = {
    "So our answer is $\\boxed 2$.": "So our answer is $\\boxed{2}$.",
    "Hence \\fbox{3}.": "Hence \\boxed{3}.",
    "$\\boxed2$": "$\\boxed{2}$",
    "\\(\\boxed 12\\)": "\\(\\boxed{12}\\)",
    "It is \\boxed {x}.": "It is \\boxed{x}.",
    "\\boxed\\frac{1}{2}$": "\\boxed{\\frac{1}{2}}$",
    "$\\boxed 3$, no: \\fbox{\\{4\\}}": "$\\boxed3$, no: \\boxed{\\{4\\}}",
    "\\boxed{\\frac{1}{2}}": "\\boxed{\\frac{1}{2}}",
}


@pytest.mark.parametrize("solution", BOXES)
def test_a_box_of_any_kind_is_read(solution, tmp_path):
    path = questions.write(tmp_path / "q.jsonl", [{"problem": "?", "solution": solution}])
    assert read_documents(BENCHMARKS["math"], path) == [{"problem": "?", "solution": BOXES[solution]}]


ODD = {
    "math": [
        {"problem": "?", "solution": "It is 2."},
        {"problem": "?", "solution": "\\boxed{2"},
        {"problem": "?", "solution": "\\boxed{}"},
    ],
    "gsm8k": [{"question": "?", "answer": "18"}, {"question": "?", "answer": "#### Step 1\n18"}, {"question": 3, "answer": "#### 3"}, [1]],
    "humaneval": [questions.HUMAN_EVAL[0], {"task_id": "x"}],
    "mbpp": [questions.MBPP[0] | {"test_list": "assert"}],
}


@pytest.mark.parametrize("key", ODD)
def test_odd_questions_are_left_out_and_told(key, tmp_path):
    path = questions.write(tmp_path / "q.jsonl", [*FILES[key], *ODD[key]])
    path.write_text("\ufeff" + path.read_text() + "{\n", encoding="utf-8")
    left_out = []
    assert read_documents(BENCHMARKS[key], path, left_out=left_out) == FILES[key]
    places = range(len(FILES[key]) + 1, len(FILES[key]) + len(ODD[key]) + 2)
    assert [each.split()[1].rstrip(":") for each in left_out] == [str(place) for place in places]
