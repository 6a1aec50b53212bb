"""Programs in chat replies: fences of every sort, and none."""

import json
import time
from pathlib import Path

import pytest

from lopa_core.evaluation.replies import program

BEGUN = 'def double(x):\n    """Twice x."""\n'
OUTSIDE = json.loads((Path(__file__).parent / "code_fences.json").read_text(encoding="utf-8"))
FIRST_BLOCK_COUNTS = ("draft, then final", "install hint first")
RIGHT = {
    "longer fence": "````python\ndef double(x):\n    return 2 * x\n````",
    "longer with inner": "````python\ndef double(x):\n    '''\n    ```\n    x\n    ```\n    '''\n    return 2 * x\n````\nDone.",
    "attributes": '```python title="a.py" linenums="1"\ndef double(x):\n    return 2 * x\n```',
    "pandoc": "```{.python .numberLines}\ndef double(x):\n    return 2 * x\n```",
    "spaced tag": "``` python\ndef double(x):\n    return 2 * x\n```",
    "py3": "```py3\ndef double(x):\n    return 2 * x\n```",
    "in bullet": "- ```python\n  def double(x):\n      return 2 * x\n  ```\n",
    "in numbered line": "1. ```python\n   def double(x):\n       return 2 * x\n   ```\n",
    "tab": "\t```python\n\tdef double(x):\n\t    return 2 * x\n\t```",
    "quoted": "> ```python\n> def double(x):\n>     return 2 * x\n> ```",
    "tildes longer": "~~~~~\ndef double(x):\n    return 2 * x\n~~~~~",
    "tildes inside ticks": "```\ndef double(x):\n    return 2 * x\n# ~~~\n```",
    "ticks inside tildes": "~~~\ndef double(x):\n    return 2 * x\n# ```\n~~~\nend",
    "words before the fence": "Sure: ```python\ndef double(x):\n    return 2 * x\n```",
    "code before closing": "```python\ndef double(x):\n    return 2 * x```",
    "one line": "```python def double(x): return 2 * x```",
    "one line bare": "```def double(x): return 2 * x```",
    "unclosed": "```python\ndef double(x):\n    return 2 * x\n",
    "unclosed with prose": "```python\ndef double(x):\n    return 2 * x\n\nThis doubles its argument.",
    "prose behind": "def double(x):\n    return 2 * x\n\nThis function doubles its argument.\nIt is simple.",
    "prose around": "Here you go:\n\ndef double(x):\n    return 2 * x\n\nThat is all.",
    "body prose behind": "    return 2 * x\n\nThis doubles it.",
    "first line lost": "y = 2\n    return y * x\n",
    "body no indent": "return 2 * x",
    "body no indent two lines": "```\ny = 2\nreturn y * x\n```",
    "closing only crlf": "    return 2 * x\r\n```\r\nIt doubles.\r\n",
    "crlf tildes": "~~~py\r\ndef double(x):\r\n    return 2 * x\r\n~~~\r\n",
    "closing then example": "    return 2 * x\n```\nExample:\n```python\nprint(double(2))\n```",
    "closing tildes": "    return 2 * x\n~~~\nok",
    "closing unindented": "return 2 * x\n```\nok",
    "closing long": "    y = 2\n    return y * x\n````\nok",
    "lambda": "```python\ndouble = lambda x: 2 * x\n```",
    "helpers": (
        "```python\nimport math\n\ndef helper(x):\n    return 2 * x\n\ndef double(x):\n    return helper(x)\n```\n"
        "Use:\n```python\ndouble(1)\n```"
    ),
    "heading": "### Solution\n\n```python\ndef double(x):\n    return 2 * x\n```\n",
    "bold then fence": "**Answer**\n```\ndef double(x):\n    return 2 * x\n```",
    "one word before": "Solution\n```\ndef double(x):\n    return 2 * x\n```",
    "note before": "Answer: code\n```\ndef double(x):\n    return 2 * x\n```",
    "indented in fence": "```python\n    def double(x):\n        return 2 * x\n```",
    "annotated": "```python\ndef double(x: int) -> int:\n    return 2 * x\n```",
    "main guard": "```python\ndef double(x):\n    return 2 * x\n\nif __name__ == '__main__':\n    print(double(2))\n```",
    "upper tag": "```Python\ndef double(x):\n    return 2 * x\n```",
    "two-line list prose": "1. Double it:\n    ```python\n    def double(x):\n        return 2 * x\n    ```\n2. Done",
    "uneven": "  ```python\n  def double(x):\n      return 2 * x\n```",
    "cr in fence": "\r\n```python\r\n\r\ndef double(x):\r\n\r\n    return 2 * x\r\n```",
    "empty info space": "```  \ndef double(x):\n    return 2 * x\n```  ",
    "bold": "**```python**\ndef double(x):\n    return 2 * x\n```",
}


def right(reply, begun=BEGUN):
    """Whether the program doubles."""
    names = {}
    try:
        exec(program(begun, "double", reply), names)
    except (SyntaxError, NameError, ImportError, ValueError):
        return False
    return names["double"](4) == 8


@pytest.mark.parametrize("name", OUTSIDE)
def test_replies_after_public_reports(name):
    assert right(OUTSIDE[name]) == (name not in FIRST_BLOCK_COUNTS)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_is_found(name):
    assert right(RIGHT[name])


@pytest.mark.parametrize(
    "reply", ["", "I would multiply it by two.", "Sure", "```\n```", "Answer: yes\n```\n", "from the text\nimport it", "\x00", "(" * 500]
)
def test_words_are_no_program(reply):
    assert not right(reply)


def test_what_was_begun_may_have_no_body():
    assert right("```\ndef double(x):\n    return 2 * x\n```", begun="import math\n\n\ndef double(x):\n")


def test_without_a_name_the_block_is_the_program():
    assert program("", None, "Here:\n~~~\ndef twice(x):\n    return 2 * x\n~~~\n") == "def twice(x):\n    return 2 * x\n"


@pytest.mark.parametrize("line", ["def x\n", "words and words\n", "``` a\n", "import it please\n", "x = [\n"])
def test_long_replies_are_read_soon(line):
    began = time.process_time()
    program(BEGUN, "double", line * 300)
    assert time.process_time() - began < 10.0
