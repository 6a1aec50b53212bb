"""Taking turns: fair, bounded, lazy, and nothing is lost."""

import pytest

from lopa_core.evaluation.scheduler import in_turn


def job(name, steps, log):
    for step in range(steps):
        log.append((name, step))
        yield None
    yield name


@pytest.mark.parametrize("width", [1, 2, 3, 10])
def test_every_job_comes_to_its_end_once(width):
    steps = [3, 0, 5, 1, 4]
    told = list(in_turn((job(name, count, []) for name, count in enumerate(steps)), width))
    assert sorted(told) == [0, 1, 2, 3, 4]


def test_one_at_a_time_is_one_after_the_other():
    log = []
    assert list(in_turn((job(name, 2, log) for name in "ab"), 1)) == ["a", "b"]
    assert log == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


def test_jobs_take_turns_and_short_ones_end_first():
    log = []
    jobs = (job(name, steps, log) for name, steps in (("long", 4), ("short", 1), ("next", 1)))
    assert list(in_turn(jobs, 2)) == ["short", "next", "long"]
    assert log == [("long", 0), ("short", 0), ("long", 1), ("long", 2), ("next", 0), ("long", 3)]


def test_a_job_is_taken_only_when_there_is_room():
    taken = []

    def jobs():
        for name in range(5):
            taken.append(name)
            yield job(name, 2, [])

    running = in_turn(jobs(), 2)
    assert next(running) == 0 and taken == [0, 1]
    assert next(running) == 1 and taken == [0, 1, 2]


def test_nothing_to_do():
    assert list(in_turn([], 4)) == []
