"""The benchmarks of LoPA's paper: where their questions are, what a question must have, how they are asked."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.published import PUBLISHED

PAPER_LENGTH = 512  # slots, in the scripts that come with the paper; its Table 5 names none
SUBJECTS = ("algebra", "counting_and_probability", "geometry", "intermediate_algebra", "number_theory", "prealgebra", "precalculus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark.

    repository, parts, splits: of the Hub; None: its questions come from a file only. fields: what a question has at least, by
    name. published: its hyperparameters in model.published. shots: solved examples before a
    question, as published results use them. harness: its folder and task in lm-evaluation-harness, for those that are asked and
    scored by it. code: answers are programs.
    """

    key: str
    title: str
    fields: dict[str, type]
    published: str
    shots: int = 0
    repository: str | None = None
    parts: tuple[str | None, ...] = (None,)
    splits: tuple[str, ...] = ("test",)
    harness: tuple[str, str] | None = None
    code: bool = False

    @property
    def paper(self) -> dict[str, object]:
        """Decode settings of LoPA's Table 5 (arXiv 2512.16229), which are for D2F-Dream."""
        return PUBLISHED[self.published] | {"max_new_tokens": PAPER_LENGTH}


HUMAN_EVAL = {"task_id": str, "prompt": str, "entry_point": str}
MBPP = {"task_id": int, "text": str, "code": str, "test_list": list}
PLUS = HUMAN_EVAL | {"canonical_solution": str, "base_input": list, "plus_input": list}

BENCHMARKS = {
    each.key: each
    for each in (
        Benchmark(
            key="gsm8k", title="GSM8K", fields={"question": str, "answer": str},
            published="LoPA paper, GSM8K", shots=4,
            repository="openai/gsm8k", parts=("main",), harness=("gsm8k", "gsm8k_cot"),
        ),
        Benchmark(
            key="math", title="MATH", fields={"problem": str, "solution": str},
            published="LoPA paper, MATH", shots=4,
            repository="EleutherAI/hendrycks_math", parts=SUBJECTS, harness=("minerva_math", "minerva_math_algebra"),
        ),
        Benchmark(
            key="humaneval", title="HumanEval", fields=HUMAN_EVAL | {"test": str}, published="LoPA paper, HumanEval",
            repository="openai/openai_humaneval", code=True,
        ),
        Benchmark(
            key="mbpp", title="MBPP", fields=MBPP, published="LoPA paper, MBPP", shots=3,
            repository="google-research-datasets/mbpp", parts=("full",), splits=("prompt", "test"), code=True,
        ),
        Benchmark(key="humaneval+", title="HumanEval+", fields=PLUS, published="LoPA paper, HumanEval", code=True),
        Benchmark(key="mbpp+", title="MBPP+", fields=PLUS, published="LoPA paper, MBPP", code=True),
    )
}  # fmt: skip
