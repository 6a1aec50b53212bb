"""Lists of words that are changed step by step: a second skill, in the manner of ParallelBench's waiting line (arXiv 2510.04767).

Copying, reversing, inserting, removing, replacing: every step can be checked word for word. The words of a list
depend on each other, which is what decoding in parallel breaks first; "any other order" has many right answers, and
none of its words is sure before another one is written. The phrasings of a step are equally long and the first step has
no linking word: else the place of a list's words is open as long as its sentence is, and a model that writes in any
order fixes some words for one phrasing and some for another (most of its errors, before).

A problem is a pure function of (seed, split, index). The "test" split is held out three ways: first names as in
word_problems; start lists by a hash, about 1 in 10; sequences of operations by a hash, about 1 in 6.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .phrasing import Phrasings, explain, people, phrase
from .problem import Problem
from .stories import ITEMS, PRONOUNS

WORDS = tuple(sorted(" ".join(ITEMS.values()).split()))
FAMILY = "list"
SHORTEST, LONGEST = 3, 6
OPERATIONS = (1, 1, 2, 2, 3)
LONGEST_ALL = 18  # words over all steps, so that a solution stays under 160 tokens

START = ("{name} has a list of words: {words}.", "On a sheet of paper {name} writes these words: {words}.")
END = ("What is the list now?", "Which words does the list hold now?")


class Change(NamedTuple):
    """What an operation does to a list. make: (generator, list) -> (new list, what its sentences name), None where it cannot."""

    name: str
    make: Callable[[random.Random, tuple[str, ...]], tuple[tuple[str, ...], dict[str, object]] | None]
    question: Phrasings
    solution: Phrasings


def problem(seed: int, index: int, split: str = "train") -> Problem:
    """The problem with this index; the same arguments always give the same problem."""
    rng = random.Random(f"lists/{seed}/{split}/{index}")
    while True:
        found = draw(rng, split)
        if found:
            return found


def problems(count: int, *, seed: int = 0, split: str = "train", start: int = 0) -> Iterator[Problem]:
    """The problems start .. start + count - 1."""
    return (problem(seed, index, split) for index in range(start, start + count))


def held_out(what: str, share: int) -> bool:
    return zlib.crc32(f"list {what}".encode()) % share == 0


def draw(rng: random.Random, split: str) -> Problem | None:
    """A random problem, or None where it belongs to the other split or gets too long."""
    names = rng.choices([change.name for change in CHANGES], weights=WEIGHTS, k=rng.choice(OPERATIONS))
    if "shuffle" in names[:-1]:
        return None  # what follows "any other order" would have many right answers
    words = tuple(rng.sample(WORDS, rng.randint(SHORTEST, LONGEST)))
    if held_out("-".join(names), 6) != (split == "test") or held_out(" ".join(words), 10) != (split == "test"):
        return None
    (name, gender), _ = people(rng, split)
    slots = {"name": name, **PRONOUNS[gender]}
    question, steps, told, now = [phrase(rng, START, slots | {"words": ", ".join(words)})], [], len(words), words
    before = words
    for change in (BY_NAME[each] for each in names):
        changed = change.make(rng, now)
        if changed is None:
            return None
        before, (now, named) = now, changed
        slots_here = slots | named | {"words": ", ".join(now)}
        question.append(phrase(rng, change.question, slots_here))
        steps.append((change.solution, slots_here))
        told += len(now)
    if told > LONGEST_ALL or len(set(now)) != len(now):
        return None
    question.append(phrase(rng, END, slots))
    answer = ", ".join(now)
    free = before if names[-1] == "shuffle" else ()
    solution = f"{explain(rng, steps, opener=False)}\n#### {answer}"
    return Problem(question=" ".join(question), solution=solution, answer=answer, family=FAMILY, any_other_order=free)


def reverse(rng: random.Random, words: tuple[str, ...]):
    return words[::-1], {}


def remove(rng: random.Random, words: tuple[str, ...]):
    if len(words) <= SHORTEST:
        return None
    gone = rng.choice(words)
    return tuple(word for word in words if word != gone), {"gone": gone}


def insert(rng: random.Random, words: tuple[str, ...]):
    if len(words) >= LONGEST:
        return None
    new, place = rng.choice([word for word in WORDS if word not in words]), rng.randrange(len(words))
    return (*words[: place + 1], new, *words[place + 1 :]), {"new": new, "old": words[place]}


def append(rng: random.Random, words: tuple[str, ...]):
    if len(words) >= LONGEST:
        return None
    new = rng.choice([word for word in WORDS if word not in words])
    return (*words, new), {"new": new}


def replace(rng: random.Random, words: tuple[str, ...]):
    new, place = rng.choice([word for word in WORDS if word not in words]), rng.randrange(len(words))
    return (*words[:place], new, *words[place + 1 :]), {"new": new, "old": words[place]}


def swap(rng: random.Random, words: tuple[str, ...]):
    return (words[-1], *words[1:-1], words[0]), {}


def rotate(rng: random.Random, words: tuple[str, ...]):
    return (words[-1], *words[:-1]), {}


def keep(rng: random.Random, words: tuple[str, ...]):
    if len(words) <= SHORTEST:
        return None
    count = rng.randint(SHORTEST, len(words) - 1)
    return words[:count], {"count": count}


def shuffle(rng: random.Random, words: tuple[str, ...]):
    while True:
        other = tuple(rng.sample(words, len(words)))
        if other != words:
            return other, {}


CHANGES = (
    Change("reverse", reverse, ("{They} reverses the list.", "Then {they} writes the list backwards."),
           ("In reverse order it is {words}.", "In reverse order it reads {words}.")),
    Change("remove", remove, ("{They} takes {gone} away.", "Then {they} crosses out {gone}."),
           ("Without {gone} it is {words}.", "Without {gone} it reads {words}.")),
    Change("insert", insert, ("{They} puts {new} right after {old}.", "Then {they} adds {new} behind {old}."),
           ("With {new} after {old} it is {words}.", "With {new} behind {old} it reads {words}.")),
    Change("append", append, ("{They} adds {new} at the end.", "Then {they} puts {new} last."),
           ("With {new} at the end it is {words}.", "With {new} at the end it reads {words}.")),
    Change("replace", replace, ("{They} replaces {old} by {new}.", "Then {they} writes {new} in place of {old}."),
           ("With {new} for {old} it is {words}.", "With {new} for {old} it reads {words}.")),
    Change("swap", swap, ("{They} swaps the first and the last word.", "Then the first and the last word change places."),
           ("With both ends swapped it is {words}.", "After the swap the list reads {words}.")),
    Change("rotate", rotate, ("{They} moves the last word to the front.", "Then the last word goes to the front."),
           ("With the last word in front it is {words}.", "With the last word in front it reads {words}.")),
    Change("keep", keep, ("{They} keeps only the first {count} words.", "Then {they} drops all but the first {count} words."),
           ("The first {count} words are {words}.",)),
    Change("shuffle", shuffle, ("{They} puts the words in any other order.", "Then {they} mixes the words."),
           ("In another order it is {words}.", "In another order it reads {words}.")),
)  # fmt: skip
WEIGHTS = (10, 10, 10, 8, 10, 7, 7, 8, 3)
BY_NAME = {change.name: change for change in CHANGES}
