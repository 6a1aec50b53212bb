"""Our decoders as a model of lm-evaluation-harness (an optional package), and its tasks of word problems and of MATH.

Prompts, examples, filters and scores are the harness's own; formulas are compared in this process, which runs none of the text.
Its tasks of code are not used: they run programs in the process that loads them (programs.py has ours).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import lm_eval
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

from ..io.writing import write_text
from .documents import Document
from .errors import EvaluationError
from .journal import Request
from .scores import Scores
from .writer import Writer

PREFERRED = "flexible-extract"  # of GSM8K's two filters: the last number, wherever it stands


class DiffusionModel(LM):
    """What `lm_eval.simple_evaluate(model=DiffusionModel(writer), tasks=[...])` takes: any task that asks for greedy text.

    The length is the decoder's own (max_new_tokens); a task's max_gen_toks can only make it shorter, by whole blocks.
    """

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self.writer, self.answers = writer, {}

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """The answers' texts. Raises EvaluationError for a task that asks for samples."""
        asked = [self.request(each) for each in requests]
        answers = self.writer.write(asked)
        self.answers |= {request.key: answer for request, answer in zip(asked, answers)}
        return [answer.text for answer in answers]

    def request(self, instance: Instance) -> Request:
        prompt, told = instance.args
        if told.get("do_sample"):
            raise EvaluationError(f"The task {instance.task_name} samples its answers, which is not supported: take a greedy one.")
        until = told.get("until") or ()
        until = (until,) if isinstance(until, str) else tuple(until)
        return Request(key=f"{instance.task_name}/{instance.doc_id}", prompt=prompt, until=until, longest=told.get("max_gen_toks"))

    def loglikelihood(self, requests: list[Instance], disable_tqdm: bool = False) -> NoReturn:
        raise EvaluationError(
            "A masked diffusion model gives no probability of a text from left to right: take a task that asks for text (generate_until)."
        )

    def loglikelihood_rolling(self, requests: list[Instance], disable_tqdm: bool = False) -> NoReturn:
        self.loglikelihood(requests)


def run(names: tuple[str, str], documents: Sequence[Document], writer: Writer, shots: int) -> Scores:
    """Ask and score all questions as a task of the harness does. names: its folder among the harness's tasks, and its own."""
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    model = DiffusionModel(writer)
    with TemporaryDirectory(prefix="lopa-") as folder:
        tasks = describe(Path(folder), names, documents, shots)
        told = lm_eval.simple_evaluate(model=model, tasks=[names[1]], task_manager=tasks, bootstrap_iters=0)
    samples = told["samples"][names[1]]
    right = {}
    for each in samples:
        for metric in each["metrics"]:
            right.setdefault(title(metric, each["filter"]), {})[each["doc_id"]] = bool(each[metric])
    if not right or any(len(verdicts) != len(documents) for verdicts in right.values()):
        raise EvaluationError(
            f"lm-evaluation-harness {lm_eval.__version__} did not score every question: take the version constraints.txt names."
        )
    order = sorted(right, key=lambda name: PREFERRED not in name)
    answers = [model.answers[f"{names[1]}/{place}"] for place in range(len(documents))]
    return Scores(answers=answers, right={name: [right[name][place] for place in range(len(documents))] for name in order})


def describe(folder: Path, names: tuple[str, str], documents: Sequence[Document], shots: int) -> TaskManager:
    """The harness's task with our questions in the place of its own."""
    questions, description = folder / "questions.jsonl", folder / "task.yaml"
    write_text(questions, "".join(json.dumps(each) + "\n" for each in documents))
    base = Path(lm_eval.__file__).parent / "tasks" / names[0]
    includes = [path for path in sorted(base.glob("*.yaml")) if f"task: {names[1]}" in path.read_text(encoding="utf-8").split("\n")]
    if not includes:
        raise EvaluationError(
            f"lm-evaluation-harness {lm_eval.__version__} has no task {names[1]}: take the version constraints.txt names."
        )
    kept: dict[str, Any] = {"data_files": {"test": str(questions)}, "cache_dir": str(folder / "cache")}
    task = {"include": str(includes[0]), "task": names[1], "dataset_path": "json", "dataset_name": None, "dataset_kwargs": kept}
    task |= {"training_split": None, "test_split": "test", "num_fewshot": shots}
    write_text(description, json.dumps(task))  # JSON is YAML
    return TaskManager(include_path=folder, include_defaults=False)


def title(metric: str, filtered: str) -> str:
    return metric if filtered == "none" else f"{metric}, {filtered}"
