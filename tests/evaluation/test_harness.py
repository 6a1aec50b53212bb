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


ASKED = {
    "an empty stop string": ({"until": [""]}, (), None),
    "an empty one among others": ({"until": ["", "\n", "Q:"]}, ("\n", "Q:"), None),
    "one empty text": ({"until": ""}, (), None),
    "nothing": ({"until": None, "max_gen_toks": None}, (), None),
    "a length that is a text": ({"max_gen_toks": "32"}, (), 32),
    "a length with a point": ({"max_gen_toks": 32.0}, (), 32),
    "a text with a point and blanks": ({"max_gen_toks": " 32.0 "}, (), 32),
    "the harness's other names": ({"max_new_tokens": "16", "max_tokens": 8}, (), 16),
    "greedy, in words": ({"do_sample": "false", "temperature": "0.7"}, (), None),
    "a temperature of 0 that is a text": ({"temperature": "0.0"}, (), None),
}
REFUSED = {
    "a length that is a word": ({"max_gen_toks": "many"}, "max_gen_toks: 'many', which is no number"),
    "no token": ({"max_gen_toks": 0}, "whole number of 1 or more"),
    "fewer than none": ({"max_gen_toks": "-3"}, "whole number of 1 or more"),
    "half a token": ({"max_gen_toks": 1.5}, "whole number of 1 or more"),
    "no number": ({"max_gen_toks": "nan"}, "whole number of 1 or more"),
    "without end": ({"max_gen_toks": "inf"}, "whole number of 1 or more"),
    "a truth value": ({"max_gen_toks": True}, "no number"),
    "a list": ({"max_gen_toks": [32]}, "no number"),
    "a stop string that is a number": ({"until": 5}, "take a text, or a list of texts"),
    "numbers for stop strings": ({"until": ["a", 5]}, "take a text, or a list of texts"),
    "samples, in words": ({"do_sample": "True"}, "samples its answers"),
    "a temperature alone": ({"temperature": "0.7"}, "samples its answers"),
    "a temperature that is a word": ({"temperature": "warm"}, "no number"),
    "a choice that is none": ({"do_sample": "perhaps"}, "take true or false"),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_a_task_asks_is_read_from_texts_as_well(name):
    told, until, longest = ASKED[name]
    request = harness.DiffusionModel(Told()).request(instance("generate_until", "Q:", told))
    assert (request.until, request.longest) == (until, longest) and type(request.longest) in (int, type(None))


@pytest.mark.parametrize("name", REFUSED)
def test_what_means_nothing_is_refused_in_one_sentence(name):
    told, says = REFUSED[name]
    with pytest.raises(EvaluationError, match=says) as error:
        harness.DiffusionModel(Told()).request(instance("generate_until", "Q:", told))
    assert "\n" not in str(error.value)


def test_repeats_of_a_greedy_decoder_are_written_once(caplog):
    first, second = instance("generate_until", "Q:", {}), Instance("generate_until", {}, ("Q2:", {}), 0, ("task", 4, 3))
    writer = Told("a", "b")
    assert harness.DiffusionModel(writer).generate_until([first] * 3 + [second] * 3) == ["a"] * 3 + ["b"] * 3
    assert [each.key for each in writer.asked] == ["task/3", "task/4"] and "takes no samples" in caplog.text


def test_repeats_of_a_sampling_decoder_are_samples_of_their_own():
    writer = Told("a", "b", "c", samples=True)
    assert harness.DiffusionModel(writer).generate_until([instance("generate_until", "Q:", {})] * 3) == ["a", "b", "c"]
    assert [each.name for each in writer.asked] == ["task/3", "task/3#1", "task/3#2"]


def test_several_requests_of_a_question_have_names_of_their_own():
    asked = [Instance("generate_until", {}, (prompt, {}), place, ("task", 3, 1)) for place, prompt in enumerate(("Q:", "R:"))]
    writer = Told("a", "b")
    assert harness.DiffusionModel(writer).generate_until(asked) == ["a", "b"]
    assert [each.key for each in writer.asked] == ["task/3", "task/3.1"]


def test_a_chat_template_is_the_model_s_own(tmp_path):
    """The prompt is the user's text as it stands; the writer puts the template around it."""
    tasks = harness.describe(tmp_path, BENCHMARKS["gsm8k"].harness, GSM8K[:1], 0)
    plain, chat = (Told(" The answer is 14.", chat=True) for _ in range(2))
    for writer, template in ((plain, False), (chat, True)):
        told = harness.lm_eval.simple_evaluate(
            model=harness.DiffusionModel(writer), tasks=["gsm8k_cot"], task_manager=tasks, bootstrap_iters=0, apply_chat_template=template
        )
        assert told["results"]["gsm8k_cot"]["exact_match,flexible-extract"] == 1
    assert chat.asked[0].prompt == plain.asked[0].prompt.rstrip() == f"Q: {GSM8K[0]['question']}\nA:"


TURN = {"role": "user", "content": "Hello"}
CHATS = {
    "no template": (False, [TURN], True, "has no chat template"),
    "a system message": (True, [{"role": "system", "content": "Be brief."}, TURN], True, "one turn of the user"),
    "examples as turns": (True, [TURN, {"role": "assistant", "content": "Hi"}, TURN], True, "fewshot_as_multiturn=False"),
    "an answer begun": (True, [TURN], False, "gen_prefix"),
}


@pytest.mark.parametrize("name", CHATS)
def test_other_chats_are_refused_in_one_sentence(name):
    chat, turns, ends, says = CHATS[name]
    with pytest.raises(EvaluationError, match=says):
        harness.DiffusionModel(Told(chat=chat)).apply_chat_template(turns, add_generation_prompt=ends)


@pytest.mark.parametrize("name", ["loglikelihood", "loglikelihood_rolling"])
def test_probabilities_of_texts_are_refused_in_one_sentence(name):
    with pytest.raises(EvaluationError, match="generate_until"):
        getattr(harness.DiffusionModel(Told()), name)([instance(name, "a", "b")])
