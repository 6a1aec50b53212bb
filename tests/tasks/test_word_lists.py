"""The word lists: each operation does what its sentence says, and what is held out is held out."""

import re

import pytest
from tokenizers import Tokenizer

from lopa_core.model.catalogue import ASSETS
from lopa_core.tasks import word_lists
from lopa_core.tasks.problem import is_correct
from lopa_core.tasks.registry import TASKS

LIST = re.compile(r"[a-z]+(?:, [a-z]+)+")


@pytest.fixture(scope="module")
def train():
    return list(word_lists.problems(1500, seed=1))


@pytest.fixture(scope="module")
def test_set():
    return list(word_lists.problems(800, seed=1, split="test"))


def obey(sentence, words):
    """What a sentence of a question makes of a list, read from its own words; None for "any other order"."""
    given = [word for word in re.findall(r"[a-z]+", sentence) if word in word_lists.WORDS]
    if "revers" in sentence or "backwards" in sentence:
        return words[::-1]
    if "takes" in sentence or "crosses out" in sentence:
        return [word for word in words if word != given[0]]
    if "right after" in sentence or "behind" in sentence:
        new, old = given
        place = words.index(old) + 1
        return [*words[:place], new, *words[place:]]
    if "at the end" in sentence or sentence.endswith("last"):
        return [*words, given[0]]
    if "replaces" in sentence:
        return [given[1] if word == given[0] else word for word in words]
    if "in place of" in sentence:
        return [given[0] if word == given[1] else word for word in words]
    if "swaps" in sentence or "change places" in sentence:
        return [words[-1], *words[1:-1], words[0]]
    if "front" in sentence:
        return [words[-1], *words[:-1]]
    if "only the first" in sentence or "all but the first" in sentence:
        return words[: int(re.search(r"\d+", sentence)[0])]
    assert "any other order" in sentence or "mixes" in sentence, sentence
    return None


def test_answers_are_what_the_sentences_say(train, test_set):
    for problem in train + test_set:
        first, *changes, _ = re.split(r"[.?] ", problem.question)
        words = LIST.search(first.split(": ")[1])[0].split(", ")
        for sentence in changes:
            before, words = words, obey(sentence, words)
        if words is None:
            assert sorted(problem.answer.split(", ")) == sorted(before) and problem.any_other_order == tuple(before)
        else:
            assert problem.answer == ", ".join(words), problem


def test_the_solution_tells_a_list_per_step_and_ends_with_the_answer(train):
    for problem in train:
        body, last = problem.solution.split("\n#### ")
        assert last == problem.answer and body.removesuffix(".").endswith(problem.answer)
        assert is_correct(problem.solution, problem)
        assert not is_correct(f"#### {problem.answer}, more", problem)


def test_any_other_order_is_right_in_any_order_but_the_given_one(train):
    problem = next(each for each in train if each.any_other_order)
    words = problem.any_other_order
    assert is_correct(f"#### {', '.join(words[1:] + words[:1])}", problem)
    assert not is_correct(f"#### {', '.join(words)}", problem)
    assert not is_correct(f"#### {', '.join(words[:-1] + words[:1])}", problem)  # one word twice: what parallel decoding breaks


def test_splits_share_neither_lists_nor_sequences_of_operations(train, test_set):
    def lists(problems):
        return {LIST.search(each.question)[0] for each in problems}

    assert not lists(train) & lists(test_set)
    assert all(word_lists.held_out(" ".join(each.split(", ")), 10) for each in lists(test_set))


def test_no_word_stands_twice_and_nothing_is_too_long(train, test_set):
    for problem in train + test_set:
        words = problem.answer.split(", ")
        assert len(set(words)) == len(words) <= word_lists.LONGEST
        assert len(problem.solution.split()) <= 110


def test_every_operation_occurs(train):
    told = " ".join(each.solution for each in train)
    for change in word_lists.CHANGES:
        start = change.solution[-1].split("{")[0].strip()
        assert start in told or start[0].lower() + start[1:] in told, change.name


@pytest.mark.parametrize("task", list(TASKS))
def test_a_task_gives_the_same_problems_every_time(task):
    draw = TASKS[task]
    assert list(draw(30, seed=2)) == list(draw(30, seed=2))
    assert list(draw(5, seed=2, start=10)) == list(draw(15, seed=2))[10:]
    assert list(draw(5, seed=2)) != list(draw(5, seed=3))


def test_the_mixed_task_holds_both_skills_in_both_splits():
    for split in ("train", "test"):
        families = [each.family for each in TASKS["mixed"](400, split=split)]
        assert 0.2 < families.count("list") / 400 < 0.4


def test_no_phrasing_moves_the_words_of_a_list():
    """Where the sentences of a step have different lengths, the words have no place until their sentence is chosen."""
    tokenizer = Tokenizer.from_file(str(ASSETS / "lopa-tiny" / "tokenizer.json"))
    for change in word_lists.CHANGES:
        told = (each.split("{words}")[0].format(gone="pens", new="pens", old="coins", count=3) for each in change.solution)
        assert len({len(tokenizer.encode(f" {each}").ids) for each in told}) == 1, change.name
    first = [each.solution.split(" ")[0] for each in word_lists.problems(300)]
    assert not {"First,", "To", "So", "Then"} & set(first)
