"""Numbers as people and models set them, and which of a text's numbers is its answer."""

import json
import time
from decimal import Decimal
from pathlib import Path

import pytest

from lopa_core.evaluation.final_number import number
from lopa_core.evaluation.numbers import numbers, typed

TYPOGRAPHY = {
    "9\u202f500": "9500",
    "9 500 dollars": "9500",
    "9’500.50": "9500.5",
    "12,34,567": "1234567",
    "₹1,00,000": "100000",
    "a 1,2,3": "3",
    "1.234.567": "1234567",
    "1.234,56 €": "1234.56",
    "–12": "-12",
    "5–7 hours": "7",
    "15 – 3 = 12": "12",
    "-$12": "-12",
    "$-12": "-12",
    "−$1,450.25": "-1450.25",
    "$.50": "0.5",
    "Rs.500": "500",
    "USD18": "18",
    "US$18": "18",
    "x2 is 3 m2": "3",
    "m^2": "2",
    "12 m²": "12",
    "12 m^2": "12",
    "10^{3}": "10",
    "3 \\times 10^{5}": "300000",
    "3×10⁵": "300000",
    "1.5e6": "1500000",
    "1½": "1.5",
    "½": "0.5",
    "\\frac{1}{2}": "0.5",
    "2\\frac12": "2.5",
    "-\\frac{1}{2}": "-0.5",
    "3/4": "0.75",
    "2 1/2 cups": "2.5",
    "3/4/2020": "2020",
    "1.5 million": "1500000",
    "the 3rd of 18th": "18",
    "18 on the 3rd": "18",
    "１８": "18",
    "１，４５０": "1450",
    "−１２": "-12",
    "٣٤": "34",
    "9{,}500": "9500",
    "9\\,500\\,000": "9500000",
    "9,\\!500": "9500",
    "$9\\ 500$": "9500",
    "1_000": "1000",
    "25\\%": "25",
    "答案是18": "18",
    "18The": "18",
    "eggs.18": "18",
    "...5": "5",
    "negative 12": "-12",
    "5 minus 3": "3",
    "minus 12 degrees": "-12",
    "$ 18": "18",
    "\\$70,000.": "70000",
    "1,450.00**": "1450",
    "72 clips, ok": "72",
    "72,": "72",
    "5-3": "3",
    "It is -3 d": "-3",
    "1/0": "1",
    "12 100-dollar": "100",
    "-1,000": "-1000",
    "(-5)": "-5",
    "x=-5": "-5",
    "= -5.0": "-5",
    "1,008.50": "1008.5",
    "COVID-19 hit 5": "5",
    "18€": "18",
    "100 000 000": "100000000",
    "about ~18": "18",
    "_18_": "18",
    "0.25%": "0.25",
    "1,23": "23",
    "£1.50": "1.5",
    "18 - 20": "20",
    "- 18 eggs": "18",
    "-18": "-18",
    "9 500,50": "50",
    "2:30": "30",
    "9\u2009500": "9500",
    "9\u00a0500": "9500",
    "−1": "-1",
    "12\u2009345.5": "12345.5",
}
ANSWERS = {
    "so 3 + 4 = 7.\n#### 7": "7",
    "#### 7\nand then 8": "7",
    "#### 5 no, wait\n#### 6": "6",
    "####": None,
    "": None,
    "#### 18The": "18",
    "#### 7 and then 8": "7",
    "#### 1. Eggs left\n16-3-4 = 9\n#### 2. Money\n9*2 = 18\nNora makes **18** dollars.": "18",
    "#### 18. Therefore she makes 18 dollars in 7 days.": "18",
    "#### 3 eggs are eaten each day\n16-3=13\n#### 4 eggs are baked by her\n13-4=9\n#### Result\n9*2=18": "18",
    "#### 3 eggs are eaten by her\n16-3=13\n#### 4 eggs are baked by her\n13-4=9, 9*2=18": "18",
    "####\n18": "18",
    "#### \n\n**18**": "18",
    "####\n9*2 = 18": "18",
    "#### Answer: 18": "18",
    "#### The final answer is $18 for 9 eggs": "18",
    "#### $\\boxed{18}$": "18",
    "##### 18": "18",
    "#### **18**": "18",
    "#### \\(18\\)": "18",
    "#### x = 18": "18",
    "#### −18": "-18",
    "#### 18 dollars\n\nQuestion: Tom has 5 apples.\nAnswer: 5\n#### 5": "18",
    "The answer is 18.\n\nQ: Tom has 5 pens. How many?\nA: 5": "18",
    "Question: How many?\nThe answer is 18": "18",
    "#### 18\n#### Check\n9*2 = 18, 18/2 = 9": "18",
    "#### ## 18": "18",
    "#### 18 ####": "18",
    "#### ~18": "18",
    "#### €18": "18",
    "#### $.50": "0.5",
    "#### -$12": "-12",
    "#### 1/2": "0.5",
    "#### \\frac{1}{2}": "0.5",
    "####18": "18",
    "#### 25%": "25",
    "\\fbox{3} then 4": "3",
    "\\boxed 2 and 5": "2",
    "\\boxed{x = 18} check 9": "18",
    "\\boxed{\\text{eighteen}} is 18": "18",
    "$\\boxed{\\frac{3}{4}}$ 9": "0.75",
    "\\boxed{12\\text{ m}^2} and 4": "12",
    "\\boxed{18} \\boxed{}": "18",
    "\\boxed{9{,}500}": "9500",
    "\\boxed{\\$18}": "18",
    "no number": None,
    "#### many": None,
    "#### Step 1\n3\n#### Step 2\n\\boxed{18}\n9": "18",
    "#### 1": "1",
    "#### 1. So he has 1 apple": "1",
    "#### 2 hours 30": "2",
    "＃＃＃＃ １８": "18",
    "#### Step 1: a\n= 9\n#### Final Answer\n18": "18",
    "#### 18\n\n#### \n#### ": "18",
    "text ####18": "18",
    "#### 18 eggs per day at the market": "18",
    "#### 9 * 2 = 18": "18",
    "#### 9*2 = **18** dollars": "18",
    "#### Total cost: 5 + 13 = 18": "18",
}
OUTSIDE = [json.loads(line) for line in (Path(__file__).parent / "gsm8k_numbers.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("text", TYPOGRAPHY)
def test_a_number_is_read_however_it_is_set(text):
    assert numbers(typed(text))[-1].value == Decimal(TYPOGRAPHY[text])


@pytest.mark.parametrize("text", ANSWERS)
def test_the_number_that_an_answer_comes_to(text):
    assert number(text) == (None if ANSWERS[text] is None else Decimal(ANSWERS[text]))


@pytest.mark.parametrize("case", OUTSIDE, ids=lambda case: case["name"])
def test_answers_after_public_reports(case):
    assert number(case["text"]) == Decimal(str(case["right"]))


LONG = {
    "digits": "9" * 5_000, "groups": "1," * 5_000, "marks": "#### " * 2_000, "numbers": "1 " * 5_000, "exponents": "1e" + "9" * 5_000,
    "boxes without an end": "\\boxed{" * 2_000, "brackets": "####" + "(" * 5_000, "questions": "answer Q: 1" * 1_000,
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
def test_long_and_odd_texts_are_read_at_once(name):
    began = time.process_time()
    number(LONG[name])
    assert time.process_time() - began < 2.0
