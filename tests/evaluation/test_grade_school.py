"""Numbers in answers, and GSM8K without examples."""

from decimal import Decimal

import pytest

from lopa_core.evaluation import grade_school
from lopa_core.evaluation.errors import EvaluationError
from lopa_core.evaluation.grade_school import number

from .questions import GSM8K
from .writers import Told

NUMBERS = {
    "so 3 + 4 = 7.\n#### 7": "7",
    "#### 7\nand then 8": "7",
    "#### 5 no, wait\n#### 6": "6",
    "The answer is 18.": "18",
    "She pays $1,008.50.": "1008.50",
    "#### 1,008": "1008",
    "#### -3": "-3",
    "5-3": "3",
    "It is -3 degrees": "-3",
    "####": None,
    "no number at all": None,
    "": None,
}


@pytest.mark.parametrize("text", NUMBERS)
def test_the_number_of_an_answer(text):
    wanted = NUMBERS[text]
    assert number(text) == (None if wanted is None else Decimal(wanted))


def test_answers_are_compared_as_numbers():
    writer = Told("#### 14.0", "I think it is 15", "so it is 1026")
    scores = grade_school.run(GSM8K, writer)
    assert scores.right == {"last number": [True, False, True]}
    assert [each.prompt for each in writer.asked] == [each["question"] for each in GSM8K]
    assert not any(each.until for each in writer.asked)


def test_a_solution_without_a_number_is_refused_before_anything_is_asked():
    writer = Told("1")
    with pytest.raises(EvaluationError, match="Question 1"):
        grade_school.run([{"question": "?", "answer": "#### many"}], writer)
    assert not writer.asked
