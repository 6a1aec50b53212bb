"""Our decoders as a model of lm-evaluation-harness (an optional package), and its tasks of word problems and of MATH.

Prompts, examples, filters and scores are the harness's own; formulas are compared in this process, which runs none of the text.
Its tasks of code are not used: they run programs in the process that loads them (programs.py has ours).
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
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
from .generation import generation
from .journal import Request
from .scores import Scores
from .writer import Writer

LOG = logging.getLogger(__name__)
PREFERRED = "flexible-extract"  # of GSM8K's two filters: the last number, wherever it stands


class DiffusionModel(LM):
    """What `lm_eval.simple_evaluate(model=DiffusionModel(writer), tasks=[...])` takes: any task that asks for greedy text.

    The length is the decoder's own (max_new_tokens); a task's max_gen_toks can only make it shorter, by whole blocks.
    """

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self.writer, self.answers = writer, {}

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """The answers' texts. Raises EvaluationError for a task that asks for samples, or for what is not understood."""
        asked = self.repeated([self.request(each) for each in requests])
        once = list(dict.fromkeys(asked))
        written = dict(zip(once, self.writer.write(once)))
        self.answers |= {request.name: answer for request, answer in written.items()}
        return [written[request].text for request in asked]

    def repeated(self, asked: list[Request]) -> list[Request]:
        """The requests with their repeats numbered, where a decoder that samples answers each in another way."""
        if len(set(asked)) == len(asked):
            return asked
        if not self.writer.samples:
            LOG.warning("The decoder takes no samples, so the repeats of a question have one answer, which is written once.")
            return asked
        before: Counter[Request] = Counter()
        numbered = []
        for request in asked:
            numbered.append(replace(request, repeat=before[request]))
            before[request] += 1
        return numbered

    def request(self, instance: Instance) -> Request:
        prompt, told = instance.args
        place = f"{instance.doc_id}.{instance.idx}" if instance.idx else str(instance.doc_id)
        until, longest = generation(told, instance.task_name)
        return Request(key=f"{instance.task_name}/{place}", prompt=prompt, until=until, longest=longest)

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """The user's text: the model's own template is put around it where it becomes tokens, so that it cannot spell control words.

        Raises EvaluationError for a model without a template, and for a chat of more than one turn.
        """
        if not self.writer.chat:
            raise EvaluationError("The model has no chat template: leave out apply_chat_template.")
        if [message["role"] for message in chat_history] != ["user"] or not add_generation_prompt:
            raise EvaluationError(
                "A question is one turn of the user here: leave out system instructions, gen_prefix and fewshot_as_multiturn "
                "(give fewshot_as_multiturn=False)."
            )
        return chat_history[0]["content"]

    @property
    def tokenizer_name(self) -> str:
        """Part of the name under which lm-evaluation-harness caches requests, which are the same for all models of ours."""
        return "lopa"

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
