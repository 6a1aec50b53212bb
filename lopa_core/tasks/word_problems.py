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
from dataclasses import dataclass
from typing import NamedTuple

from .stories import CHAIN_END, CHAIN_START, CLOSERS, EVENTS, ITEMS, LINKS, NAMES, OPENERS, POOLS, PRONOUNS, STORIES

SPLITS = ("train", "test")
CHAIN = "chain"
CHAIN_SHARE = 0.2  # chains are the most varied family, so they get more than an equal share
FAMILIES = (*(story.family for story in STORIES), CHAIN)
MAX_NUMBER, MIN_NUMBER = 100, 2
MAX_FACTOR, MAX_DIVISOR = 12, 10
MAX_STEPS = 5
MAX_QUESTION_WORDS, MAX_SOLUTION_WORDS = 75, 62
LINK_SHARE = 0.35  # of the solution's steps have a linking word
SKEW = 1.4  # exponent > 1 makes small given numbers more likely

_STEP = re.compile(r"\[(\w+)=(\w+)([-+*/])(\w+)\]")
# At most 9 digits, since a model may babble; 1.5 and 1,000 are not whole numbers written our way.
_ANSWER = re.compile(r"\s*(-?\d{1,9})(?![\w.,]*\d)")
_CONSTANTS = {"2": 2, "3": 3}  # "twice", "half", "three times"

Phrasings = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    question: str
    solution: str
    answer: int
    family: str


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
    family = CHAIN if rng.random() < CHAIN_SHARE else rng.choice(STORIES).family
    draw = _draw_chain if family == CHAIN else _draw_story
    while True:
        candidate = draw(rng, family, split)
        if candidate and _is_short(candidate):
            return candidate


def problems(count: int, *, seed: int = 0, split: str = "train", start: int = 0) -> Iterator[Problem]:
    """The problems start .. start + count - 1."""
    return (problem(seed, index, split) for index in range(start, start + count))


def parse_answer(text: str) -> int | None:
    """The integer after the last "####", or None where there is none."""
    _, mark, tail = text.rpartition("####")
    match = _ANSWER.match(tail) if mark else None
    return int(match[1]) if match else None


def is_correct(text: str, problem: Problem) -> bool:
    return parse_answer(text) == problem.answer


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


def _draw_story(rng: random.Random, family: str, split: str) -> Problem | None:
    plan, group = _STORY_PLANS[family]
    values = _draw_values(rng, plan, {})
    if values is None:
        return None
    numbers = tuple(values[name] for name, _, _ in plan.given)
    if held_out_numbers(family, numbers) != (split == "test"):
        return None
    slots = _draw_words(rng, split, group) | values
    steps = [(phrasings, slots) for phrasings in plan.solution]
    answer = values[plan.steps[-1].target]
    return _finish(_write(rng, plan.question, slots), _explain(rng, steps), answer, family)


def _draw_chain(rng: random.Random, family: str, split: str) -> Problem | None:
    start = _draw_number(rng, 2, 40)
    links, operators, numbers = [], "", [start]
    before = start
    for _ in range(rng.choice((2, 3, 3, 4))):
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
    question, steps = [_write(rng, (_CHAIN_START,), words)], []
    for plan, values in links:
        slots = words | values
        question.append(_write(rng, plan.question, slots))
        steps += [(phrasings, slots) for phrasings in plan.solution]
    question.append(_write(rng, (_CHAIN_END,), words))
    return _finish(" ".join(question), _explain(rng, steps), before, family)


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
    (name, gender), (friend, _) = rng.sample(_PEOPLE[split], 2)
    words = {"name": name, "friend": friend, **PRONOUNS[gender]}
    words["item"], words["other"] = rng.sample(_ITEMS[group], 2)
    for slot, plural_slot, pool in _POOLS:
        words[slot], words[plural_slot] = rng.choice(pool)
    return words


def _write(rng: random.Random, sentences: tuple[Phrasings, ...], slots: dict) -> str:
    chosen = (s[0] if len(s) == 1 else s[int(rng.random() * len(s))] for s in sentences)
    return " ".join(chosen).format_map(slots)


def _explain(rng: random.Random, steps: list[tuple[Phrasings, dict]]) -> str:
    """The steps as sentences, some with a word like "Then" in front."""
    told = []
    for number, (phrasings, slots) in enumerate(steps):
        sentence = _write(rng, (phrasings,), slots)
        if rng.random() < LINK_SHARE:
            choices = OPENERS if number == 0 else CLOSERS if number == len(steps) - 1 else LINKS
            starts_with_name = phrasings[0].startswith(("{name}", "{friend}"))
            sentence = rng.choice(choices) + (sentence if starts_with_name else sentence[0].lower() + sentence[1:])
        told.append(sentence)
    return " ".join(told)


def _finish(question: str, solution: str, answer: int, family: str) -> Problem:
    solution = f"{solution}\n#### {answer}"
    return Problem(question=question, solution=solution, answer=answer, family=family)


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
_ITEMS = {group: items.split() for group, items in ITEMS.items()}
_PEOPLE = {split: [(name, gender) for gender, names in by_gender.items() for name in names.split()] for split, by_gender in NAMES.items()}
_PLURAL_SLOTS = {"box": "boxes", "beast": "beasts", "bird": "birds", "kin": "kins"}
_POOLS = tuple((slot, _PLURAL_SLOTS[slot], pool) for slot, pool in POOLS.items())
