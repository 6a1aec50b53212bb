"""The example prompts are held-out problems, found again by their question."""

from lopa_core.tasks.examples import EXAMPLES, known


def test_examples_are_held_out_problems_found_by_their_question():
    assert 4 <= len(EXAMPLES) <= 6 and len({each.family for each in EXAMPLES.values()}) == len(EXAMPLES)
    for each in EXAMPLES.values():
        assert known(f" {each.question}\n") is each
    assert known("What is 2 + 2?") is None
