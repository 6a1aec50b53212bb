"""Our engine inside lm-evaluation-harness: its prompts and scores, and what it may not ask."""

import pytest

pytest.importorskip("lm_eval")

from lm_eval.api.instance import Instance

from lopa_core.evaluation import harness
from lopa_core.evaluation.benchmarks import BENCHMARKS
from lopa_core.evaluation.documents import read_documents
from lopa_core.evaluation.errors import EvaluationError

from . import questions
from .questions import GSM8K, MATH
from .writers import METRICS, Told


def instance(kind, *arguments):
    return Instance(kind, {}, arguments, 0, ("task", 3, 1))


def test_word_problems_are_asked_and_scored_by_the_harness():
    writer = Told(" 12 + 5 - 3 = 14. The answer is 14.", " It is 14", " The answer is 26.")
    scores = harness.run(BENCHMARKS["gsm8k"].harness, GSM8K, writer, 2)
    assert scores.right == {"exact_match, flexible-extract": [True, True, False], "exact_match, strict-match": [True, False, False]}
    assert [each.metrics for each in scores.answers] == [METRICS] * 3
    first = writer.asked[0]
    assert first.prompt.count("Q: ") == 3 and first.prompt.endswith(f"Q: {GSM8K[0]['question']}\nA:")
    assert "Q:" in first.until and first.key == "gsm8k_cot/0"


def test_math_is_compared_as_formulas():
    pytest.importorskip("math_verify")
    said = " Final Answer: The final answer is ${}$. I hope it is correct."
    writer = Told(said.format(r"\frac12"), said.format(5))
    scores = harness.run(BENCHMARKS["math"].harness, MATH, writer, 4)
    assert scores.right["exact_match"] == [True, False] and next(iter(scores.right)) == "exact_match"
    assert writer.asked[0].prompt.count("Problem:") == 5 and writer.asked[0].until == ("Problem:",)


def test_boxes_without_braces_are_scored(tmp_path):
    pytest.importorskip("math_verify")
    rows = [MATH[1], {"problem": "?", "solution": r"So our answer is $\boxed 2$."}, {"problem": "?", "solution": r"Hence \fbox{3}."}]
    documents = read_documents(BENCHMARKS["math"], questions.write(tmp_path / "q.jsonl", rows))
    said = " Final Answer: The final answer is ${}$. I hope it is correct."
    scores = harness.run(BENCHMARKS["math"].harness, documents, Told(*map(said.format, (4, 2, 4))), 4)
    assert scores.right == {"exact_match": [True, True, False], "math_verify": [True, True, False]}


def test_requests_become_ours():
    model = harness.DiffusionModel(Told())
    request = model.request(instance("generate_until", "Q:", {"until": "\n", "max_gen_toks": 40, "do_sample": False}))
    assert (request.key, request.prompt, request.until, request.longest) == ("task/3", "Q:", ("\n",), 40)
    assert model.request(instance("generate_until", "Q:", {})).until == ()
    with pytest.raises(EvaluationError, match="samples its answers"):
        model.request(instance("generate_until", "Q:", {"do_sample": True, "temperature": 0.7}))


@pytest.mark.parametrize("name", ["loglikelihood", "loglikelihood_rolling"])
def test_probabilities_of_texts_are_refused_in_one_sentence(name):
    with pytest.raises(EvaluationError, match="generate_until"):
        getattr(harness.DiffusionModel(Told()), name)([instance(name, "a", "b")])
