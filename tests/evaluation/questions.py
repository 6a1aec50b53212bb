"""Invented questions in the formats of the datasets."""

from __future__ import annotations

import json
from pathlib import Path

GSM8K = [
    {
        "question": "Mia has 12 shells. She finds 5 more and gives 3 to Leo. How many shells does Mia have now?",
        "answer": "12 + 5 - 3\n#### 14",
    },
    {"question": "Ana has 20 pens. She gives 6 pens to Tom. How many pens does Ana have now?", "answer": "20 - 6 = 14\n#### 14"},
    {"question": "Tom has 30 toys. He loses 4 of the toys. How many toys does Tom have now?", "answer": "30 - 4 = 26\n#### 1,026"},
]
MATH = [
    {"problem": "What is one half of one?", "solution": "It is $\\boxed{\\frac{1}{2}}$.", "level": "Level 1", "type": "Algebra"},
    {"problem": "What is $2 + 2$?", "solution": "It is $\\boxed{4}$.", "level": "Level 1", "type": "Prealgebra"},
]
HUMAN_EVAL = [
    {
        "task_id": "HumanEval/0", "prompt": 'def double(x):\n    """Twice x."""\n', "entry_point": "double",
        "canonical_solution": "    return 2 * x\n", "base_input": [[3], [0]], "plus_input": [[-1], [10]], "atol": 0,
        "test": "def check(candidate):\n    assert candidate(3) == 6\n    assert candidate(-1) == -2\n",
    },
    {
        "task_id": "HumanEval/1", "prompt": "from typing import List\n\n\ndef longest(words: List[str]) -> str:\n    'The longest.'\n",
        "entry_point": "longest", "canonical_solution": "    return max(words, key=len)\n",
        "base_input": [[["a", "bc"]]], "plus_input": [[["abc", "de", "f"]]], "atol": 0,
        "test": "def check(candidate):\n    assert candidate(['a', 'bc']) == 'bc'\n",
    },
]  # fmt: skip


def mbpp(number: int, name: str, body: str, *tests: str) -> dict[str, object]:
    code = f"def {name}(x):\r\n  return {body}"
    return {
        "task_id": number,
        "text": f"Write a function to {name} a number.",
        "code": code,
        "test_list": list(tests),
        "test_setup_code": "",
    }


MBPP = [
    mbpp(2, "halve", "x / 2", "assert halve(4) == 2", "assert halve(2) == 1", "assert halve(0) == 0"),
    mbpp(3, "square", "x * x", "assert square(4) == 16", "assert square(2) == 4", "assert square(0) == 0"),
    mbpp(4, "negate", "-x", "assert negate(4) == -4", "assert negate(2) == -2", "assert negate(0) == 0"),
    mbpp(11, "increase", "x + 1", "assert increase(4) == 5", "assert increase(2) == 3", "assert increase(0) == 1"),
    mbpp(12, "triple", "3 * x", "assert triple(4) == 12", "assert triple(2) == 6", "assert triple(0) == 0"),
]


def write(path: Path, questions: list[dict]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in questions))
    return path
