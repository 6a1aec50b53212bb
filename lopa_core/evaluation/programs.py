"""Benchmarks whose answers are programs: HumanEval (arXiv 2107.03374), MBPP (arXiv 2108.07732), and evalplus' versions of them.

A model without a chat template continues the text of a file, up to one of the stop strings. One with a template replies,
and its first fenced block is the program (replies.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from .benchmarks import Benchmark
from .documents import Document
from .errors import EvaluationError
from .journal import Request
from .replies import program
from .sandbox import check, judge
from .scores import Scores
from .writer import Writer

NEXT_DEFINITION = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")  # HumanEval's paper, section 2.2
BEHIND_A_PROGRAM = ("\nassert", "\nprint", "\nif __name__", "\n```", "\n#")
BEGIN, DONE = "[BEGIN]\n", "[DONE]"
EXAMPLES, TESTS = (2, 3, 4), range(11, 511)  # MBPP's paper, section 2.1: tasks to prompt with, tasks to test on


def run(
    benchmark: Benchmark, documents: Sequence[Document], writer: Writer, examples: Sequence[Document] = (), *,
    execute: bool = False, trusted: bool = False,
) -> Scores:  # fmt: skip
    """Ask all questions and, with `execute`, run the programs in a sandbox. examples: of MBPP, what stands solved before a question.

    trusted: whether they may run without a container where there is none.
    """
    prompts = [prompt(benchmark, document, examples, writer.chat) for document in documents]
    until = () if writer.chat and benchmark.key != "mbpp" else stops(benchmark)
    keys = [f"{'Mbpp/' if benchmark.key == 'mbpp' else ''}{document['task_id']}" for document in documents]
    answers = writer.write([Request(key=key, prompt=text, until=until) for key, text in zip(keys, prompts)])
    written = [solution(benchmark, document, answer.text, writer.chat) for document, answer in zip(documents, answers)]
    solutions = [{"task_id": key, "solution": each} for key, each in zip(keys, written)]
    right, notes = {}, []
    if not execute:
        notes.append("The programs were written, but not run and judged: that takes --allow-code-execution.")
    else:
        right = verdicts(benchmark, documents, written, trusted=trusted)
        if not check(trusted):
            notes.append("There is no container on this machine, so the trusted programs ran under Python's own guard and limits alone.")
    return Scores(answers=answers, right=right, solutions=solutions, notes=notes)


def verdicts(
    benchmark: Benchmark, documents: Sequence[Document], programs: Sequence[str], *, trusted: bool = False
) -> dict[str, list[bool]]:
    """By kind of tests, whether each program passes them."""
    if benchmark.key.endswith("+"):
        from .plus import verdicts as plus_verdicts

        return plus_verdicts(benchmark, documents, programs, trusted=trusted)
    asked = [f"{each}\n{tests(document)}\n" for document, each in zip(documents, programs)]
    return {"pass@1": [judge(each, trusted=trusted).passed for each in asked]}


def prompt(benchmark: Benchmark, document: Document, examples: Sequence[Document], chat: bool) -> str:
    if benchmark.key == "mbpp":
        solved = (f"{describe(each)}{plain(each['code'])}\n{DONE}\n\n" for each in examples)
        return "".join(solved) + describe(document)
    begun = document["prompt"]
    if not chat:
        return begun
    return f"Write this Python program to its end, all of it in one fenced block.\n```python\n{begun.strip()}\n```"


def stops(benchmark: Benchmark) -> tuple[str, ...]:
    return {"mbpp": (DONE,), "mbpp+": BEHIND_A_PROGRAM}.get(benchmark.key, NEXT_DEFINITION)


def split(documents: Sequence[Document], shots: int) -> tuple[list[Document], list[Document]]:
    """Of MBPP: `shots` of its own examples, and the tasks to test on. Raises EvaluationError where they are not there."""
    by_id = {document["task_id"]: document for document in documents}
    if shots > len(EXAMPLES):
        raise EvaluationError(f"MBPP has {len(EXAMPLES)} examples: take --shots of 0 to {len(EXAMPLES)}, not {shots}.")
    missing = [str(each) for each in EXAMPLES[:shots] if each not in by_id]
    if missing:
        raise EvaluationError(f"The examples of MBPP are missing, its tasks {', '.join(missing)}: add them to --data, or give --shots 0.")
    asked = [document for document in documents if document["task_id"] in TESTS]
    if not asked:
        raise EvaluationError(f"There is none of MBPP's tasks {TESTS.start} to {TESTS.stop - 1}, which it is tested on.")
    return [by_id[each] for each in EXAMPLES[:shots]], asked


def describe(document: Document) -> str:
    """A task of MBPP in its paper's words (Figure 1)."""
    shown = "\n".join(map(str, document["test_list"]))
    text = document["text"].strip()
    return f"You are an expert Python programmer, and here is your task: {text} Your code should pass these tests:\n\n{shown}\n{BEGIN}"


def plain(code: str) -> str:
    """MBPP's own solutions have the line ends of another system."""
    return code.replace("\r\n", "\n").strip()


def solution(benchmark: Benchmark, document: Document, text: str, chat: bool) -> str:
    """The whole program of an answer."""
    begun = "" if benchmark.key == "mbpp" else document["prompt"]
    return program(begun, document.get("entry_point"), text) if chat else begun + text


def tests(document: Document) -> str:
    """What is run behind a program, which fails by an exception."""
    if "test_list" in document:
        return "\n".join([str(document.get("test_setup_code") or ""), *map(str, document["test_list"])])
    return f"{document['test']}\ncheck({document['entry_point']})"
