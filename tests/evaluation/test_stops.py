"""Stop strings on texts and on tokens."""

import pytest

from lopa_core.evaluation.stops import cut, needed, settled, stopped

WORDS = {1: "The", 2: " answer", 3: " is", 4: " 7.", 5: "\n", 6: "\nQ", 7: ": How"}


def decode(tokens):
    return "".join(WORDS[token] for token in tokens)


def test_the_text_ends_before_the_first_stop_string():
    assert cut("a = 1\nprint(a)\nclass B", ("\nclass", "\nprint")) == "a = 1"
    assert cut("a = 1", ("\nclass",)) == "a = 1" and cut("a = 1", ()) == "a = 1" and cut("Q: x", ("Q:",)) == ""


def test_tokens_are_settled_up_to_the_first_mask():
    assert settled([1, 2, 99, 3], 99) == [1, 2] and settled([99, 1], 99) == [] and settled([1], 99) == [1]


def test_a_stop_string_may_span_tokens():
    tokens = [1, 2, 3, 4, 5, 6, 7]
    assert stopped(tokens, ("\n\nQ:",), decode) and not stopped(tokens[:-1], ("\n\nQ:",), decode)
    assert needed(tokens + [1, 1], ("\n\nQ:",), decode) == 7
    assert needed(tokens, ("\n\nQ:", " is"), decode) == 3


@pytest.mark.parametrize("until", [(), ("nowhere",)])
def test_without_a_stop_string_all_tokens_are_needed(until):
    assert not stopped([1, 2], until, decode) and needed([1, 2], until, decode) == 2
