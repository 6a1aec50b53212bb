"""Grade-school word problems with worked solutions, generated without end from templates.

A problem is a pure function of (seed, split, index). All numbers are whole, 0..100 (in fact
2..100, so nouns stay plural), so a small model can learn the whole arithmetic by heart.

The "test" split is held out three ways, so that memorised text does not help there:
1. names: its people have first names that "train" never uses;
2. numbers: a (family, given numbers) tuple hashes to one split only, about 1 in 10 to test;
3. combinations: in the "chain" family (random events one after another) about 1 in 6 of the
   operator sequences, such as "+ - *", are in test only, and test chains use only those.
"""

import random
import re
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from .phrasing import Phrasings, explain, people, phrase
from .problem import Problem
from .stories import CHAIN_END, CHAIN_START, DOUBLE_END, DOUBLE_SUM, EVENTS, ITEMS, POOLS, PRONOUNS, STORIES

SPLITS = ("train", "test")
CHAIN, DOUBLE = "chain", "double"
# the most varied families get more than an equal share
CHAIN_SHARE, DOUBLE_SHARE = 0.2, 0.15
FAMILIES = (*(story.family for story in STORIES), CHAIN, DOUBLE)
MAX_NUMBER, MIN_NUMBER = 100, 2
MAX_FACTOR, MAX_DIVISOR = 12, 10
MAX_STEPS = 8  # of a chain
CHAIN_EVENTS = (2, 3, 3, 4, 5, 6)
MAX_QUESTION_WORDS, MAX_SOLUTION_WORDS = 125, 125
SKEW = 1.4  # exponent > 1 makes small given numbers more likely

_STEP = re.compile(r"\[(\w+)=(\w+)([-+*/])(\w+)\]")
_CONSTANTS = {"2": 2, "3": 3}  # "twice", "half", "three times"


class Step(NamedTuple):
    target: str
    left: str
    operator: str
    right: str


class Plan(NamedTuple):
    """A story or event, parsed once: what to draw, what to calculate, what to say."""

    given: tuple[tuple[str, int, int], ...]
    steps: tuple[Step, ...]
    question: tuple[Phrasings, ...]
    solution: tuple[Phrasings, ...]


def problem(seed: int, index: int, split: str = "train") -> Problem:
    """The problem with this index; the same arguments always give the same problem."""
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}: expected one of {', '.join(SPLITS)}")
    rng = random.Random(f"{seed}/{split}/{index}")
    # The family is fixed before any rejection, so hard families are not under-represented.
    kind = rng.random()
    family = CHAIN if kind < CHAIN_SHARE else DOUBLE if kind < CHAIN_SHARE + DOUBLE_SHARE else rng.choice(STORIES).family
    draw = {CHAIN: _draw_chain, DOUBLE: _draw_double}.get(family, _draw_story)
    while True:
        candidate = draw(rng, family, split)
        if candidate and _is_short(candidate):
            return candidate


def problems(count: int, *, seed: int = 0, split: str = "train", start: int = 0) -> Iterator[Problem]:
    """The problems start .. start + count - 1."""
    return (problem(seed, index, split) for index in range(start, start + count))


def held_out_numbers(family: str, numbers: tuple[int, ...]) -> bool:
    return zlib.crc32(f"{family}{numbers}".encode()) % 10 == 0


def held_out_operators(operators: str) -> bool:
    """Whether a chain with these operators, one character a step, is for test only."""
    return zlib.crc32(f"chain {operators}".encode()) % 6 == 0


def calculate(left: int, operator: str, right: int) -> int | None:
    """The result, or None where the step leaves the arithmetic we want to teach."""
    if operator == "+":
        result = left + right
    elif operator == "-":
        result = left - right
    elif operator == "*":
        if max(left, right) > MAX_FACTOR:
            return None
        result = left * right
    else:
        result, rest = divmod(left, right)
        if rest or right > MAX_DIVISOR or result > MAX_FACTOR:
            return None
    return result if MIN_NUMBER <= result <= MAX_NUMBER else None


class Told(NamedTuple):
    """A question, the steps that answer it (phrasings and what fills them), the answer, and the given numbers."""

    question: str
    steps: list[tuple[Phrasings, dict]]
    answer: int
    numbers: tuple[int, ...]


def _draw_story(rng: random.Random, family: str, split: str) -> Problem | None:
    told = _tell(rng, family, split)
    return told and _finish(told.question, explain(rng, told.steps), told.answer, family)


def _tell(rng: random.Random, family: str, split: str) -> Told | None:
    plan, group = _STORY_PLANS[family]
    values = _draw_values(rng, plan, {})
    if values is None:
        return None
    numbers = tuple(values[name] for name, _, _ in plan.given)
    if held_out_numbers(family, numbers) != (split == "test"):
        return None
    slots = _draw_words(rng, split, group) | values
    steps = [(phrasings, slots) for phrasings in plan.solution]
    return Told(_write(rng, plan.question, slots), steps, values[plan.steps[-1].target], numbers)


def _draw_double(rng: random.Random, family: str, split: str) -> Problem | None:
    """Two stories, and the sum of their answers. Its numbers are held out as a pair and each story's for itself."""
    first, second = (_tell(rng, rng.choice(STORIES).family, split) for _ in range(2))
    if first is None or second is None or calculate(first.answer, "+", second.answer) is None:
        return None
    if held_out_numbers(family, first.numbers + second.numbers) != (split == "test"):
        return None
    total = {"a": first.answer, "b": second.answer, "r": first.answer + second.answer}
    question = f"{first.question} {second.question} {phrase(rng, _DOUBLE_END, {})}"
    return _finish(question, explain(rng, [*first.steps, *second.steps, (_DOUBLE_SUM, total)]), total["r"], family)


def _draw_chain(rng: random.Random, family: str, split: str) -> Problem | None:
    start = _draw_number(rng, 2, 40)
    links, operators, numbers = [], "", [start]
    before = start
    for _ in range(rng.choice(CHAIN_EVENTS)):
        plan, values = _draw_event(rng, before)
        links.append((plan, values))
        operators += "".join(step.operator for step in plan.steps)
        numbers += (values[name] for name, _, _ in plan.given)
        before = values["after"]
    in_test = split == "test"
    if len(operators) > MAX_STEPS or held_out_operators(operators) != in_test:
        return None
    if held_out_numbers(family, tuple(numbers)) != in_test:
        return None
    words = _draw_words(rng, split, rng.choice(tuple(ITEMS))) | {"start": start}
    question, steps = [phrase(rng, _CHAIN_START, words)], []
    for plan, values in links:
        slots = words | values
        question.append(_write(rng, plan.question, slots))
        steps += [(phrasings, slots) for phrasings in plan.solution]
    question.append(phrase(rng, _CHAIN_END, words))
    return _finish(" ".join(question), explain(rng, steps), before, family)


def _draw_event(rng: random.Random, before: int) -> tuple[Plan, dict[str, int]]:
    """An event that is possible now; several tries each keep the rarely possible kinds common."""
    while True:
        plan = rng.choice(_EVENT_PLANS)
        for _ in range(6 if plan.given else 1):
            values = _draw_values(rng, plan, {"before": before})
            if values:
                return plan, values


def _draw_values(rng: random.Random, plan: Plan, known: dict[str, int]) -> dict[str, int] | None:
    """Given numbers and results of all steps, or None where a step is out of bounds."""
    values = _CONSTANTS | known
    for name, low, high in plan.given:
        values[name] = _draw_number(rng, low, high)
    for target, left, operator, right in plan.steps:
        result = calculate(values[left], operator, values[right])
        if result is None:
            return None
        values[target] = result
    return values


def _draw_number(rng: random.Random, low: int, high: int) -> int:
    return low + int((high - low + 1) * rng.random() ** SKEW)


def _draw_words(rng: random.Random, split: str, group: str) -> dict[str, str]:
    """Everything but the numbers that the sentences of one problem have to agree on."""
    (name, gender), (friend, _) = people(rng, split)
    words = {"name": name, "friend": friend, **PRONOUNS[gender]}
    words["item"], words["other"] = rng.sample(_ITEMS[group], 2)
    for slot, plural_slot, pool in _POOLS:
        words[slot], words[plural_slot] = rng.choice(pool)
    return words


def _write(rng: random.Random, sentences: tuple[Phrasings, ...], slots: dict) -> str:
    return " ".join(phrase(rng, phrasings, slots) for phrasings in sentences)


def _finish(question: str, solution: str, answer: int, family: str) -> Problem:
    solution = f"{solution}\n#### {answer}"
    return Problem(question=question, solution=solution, answer=str(answer), family=family)


def _is_short(candidate: Problem) -> bool:
    return len(candidate.question.split()) <= MAX_QUESTION_WORDS and len(candidate.solution.split()) <= MAX_SOLUTION_WORDS


def _parse(given: str, question: tuple[str, ...], solution: tuple[str, ...]) -> Plan:
    ranges = []
    for part in given.split():
        name, low, high = re.fullmatch(r"(\w+)=(\d+)-(\d+)", part).groups()
        ranges.append((name, int(low), int(high)))
    return Plan(
        given=tuple(ranges),
        steps=tuple(Step(*_STEP.search(sentence).groups()) for sentence in solution),
        question=tuple(_phrasings(sentence) for sentence in question),
        solution=tuple(_phrasings(sentence) for sentence in solution),
    )


def _phrasings(sentence: str) -> Phrasings:
    return tuple(_STEP.sub(_equation, phrasing) for phrasing in sentence.split("|"))


def _equation(step: re.Match) -> str:
    target, left, operator, right = (part if part in "+-*/" or part.isdigit() else f"{{{part}}}" for part in step.groups())
    return f"{left} {operator} {right} = {target}"


_STORY_PLANS = {s.family: (_parse(s.given, s.question, s.solution), s.group) for s in STORIES}
_EVENT_PLANS = tuple(_parse(e.given, (e.question,), e.solution) for e in EVENTS)
_CHAIN_START, _CHAIN_END = _phrasings(CHAIN_START), _phrasings(CHAIN_END)
_DOUBLE_END, _DOUBLE_SUM = _phrasings(DOUBLE_END), _phrasings(DOUBLE_SUM)
_ITEMS = {group: items.split() for group, items in ITEMS.items()}
_PLURAL_SLOTS = {"box": "boxes", "beast": "beasts", "bird": "birds", "kin": "kins"}
_POOLS = tuple((slot, _PLURAL_SLOTS[slot], pool) for slot, pool in POOLS.items())
