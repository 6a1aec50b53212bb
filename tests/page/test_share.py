"""Permalinks: there and back, bounded, and every value checked."""

import base64
import random
import tracemalloc
import zlib
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lopa_core.page import share
from lopa_core.page.packing import pack
from lopa_core.page.shelf import LONGEST_PROMPT, PageError, Shelf
from lopa_core.page.widgets import NAMES, RULES, defaults

from .samples import page_model

SHELF = Shelf(page_model())
SOURCE = SHELF.main.source
PAIR = {"left": "confidence", "right": "lopa"}
USUAL = defaults(SOURCE)


def read(text):
    return share.read(dict(parse_qsl(text.removeprefix("?"), keep_blank_values=True)), SHELF)


@given(
    prompt=st.text(st.characters(codec="utf-8"), min_size=1, max_size=200).filter(str.strip),
    lookahead=st.integers(0, 15), tau_conf=st.integers(0, 100).map(lambda each: each / 100), seed=st.integers(0, 2**31),
    left=st.sampled_from(["confidence", "vanilla"]), right=st.sampled_from(["lopa", "lopa+leap", "freedave++"]),
    attention=st.sampled_from(["full", "block_causal"]),
)  # fmt: skip
def test_a_link_brings_back_what_it_was_made_of(prompt, lookahead, tau_conf, seed, left, right, attention):
    values = USUAL | {"lookahead": lookahead, "tau_conf": tau_conf, "seed": seed, "attention": attention}
    link = read(share.write(prompt, SOURCE, {"left": left, "right": right}, values))
    assert (link.prompt, link.model, link.left, link.right, link.sentence) == (prompt.strip(), "dream-a", left, right, "")
    assert USUAL | link.settings == values


def test_only_what_differs_is_in_the_link():
    assert share.write(" 2 + 2 ", SOURCE, PAIR, USUAL) == "?prompt=2+%2B+2&model=dream-a&left=confidence&right=lopa"
    assert share.write("2", SOURCE, PAIR, USUAL | {"lookahead": 7.0}).endswith("&lookahead=7")


def test_hostile_text_stays_text():
    prompt = "<img src=x onerror=alert(1)> ${7*7} {{x}} \u202e🦜 &k=3#"
    text = share.write(prompt, SOURCE, PAIR, USUAL)
    assert read(text).prompt == prompt and not set('<>"{} #') & set(text)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (f"?prompt={'x' * (LONGEST_PROMPT + 1)}", f"takes up to {LONGEST_PROMPT}"),
        ("?model=elsewhere", "no model 'elsewhere'"),
        ("?baseline=nobody", "no decoder 'nobody'"),
        ("?left=confidence&right=d2f", "no decoder 'd2f'"),
        ("?left=" + "x" * 3000, "no decoder 'xxxx"),
        ("?tab=attic", "no tab 'attic'"),
        ("?lookahead=many", "k, lookahead branches cannot be 'many'"),
        ("?lookahead=-1", "k, lookahead branches must be a whole number"),
        ("?tau_conf=nan", "τ conf"),
        ("?tau_conf=1e999", "τ conf must lie between"),
        ("?block_size=0", "Block size must be a whole number"),
        ("?block_size=7", "not a whole number of blocks of 7"),
        ("?max_new_tokens=4096", "New tokens goes from 4 to 512 on this page, so not 4096."),
        ("?lookahead=64", "k, lookahead branches goes from 0 to 15"),
        ("?attention=causal", "Attention must be one of"),
        ("?seed=" + "9" * 5000, "Seed"),
    ],
)
def test_what_cannot_be_used_is_said_and_the_rest_is_taken(query, words):
    link = read(query + "&temperature=0.5")
    assert words in link.sentence and len(link.sentence) < 300
    assert link.settings["temperature"] == 0.5


def test_links_of_before_both_sides_could_be_chosen_still_work():
    assert (read("?baseline=vanilla").left, read("?baseline=vanilla").right) == ("vanilla", None)
    assert read("?baseline=vanilla&left=leap").left == "leap"


SCRIPTS = {
    "latin": (0x21, 0x7E), "cyrillic": (0x410, 0x44F), "hebrew": (0x5D0, 0x5EA), "arabic": (0x621, 0x64A), "devanagari": (0x905, 0x939),
    "thai": (0xE01, 0xE2E), "chinese": (0x4E00, 0x9FFF), "korean": (0xAC00, 0xD7A3), "emoji": (0x1F300, 0x1FAFF),
    "adlam": (0x1E900, 0x1E943), "rare chinese": (0x20000, 0x2A6DF), "cuneiform": (0x12000, 0x12399),
    "the second plane": (0x10000, 0x1FFFF),
}  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_longest_prompt_of_any_script_fits(script):
    dice = random.Random(script)
    prompt = "".join(chr(dice.randint(*SCRIPTS[script])) for _ in range(LONGEST_PROMPT))
    changed = {"lookahead": 7, "tau_conf": 0.55, "temperature": 0.25, "seed": 123456789, "confidence": "margin"}
    link = share.write(prompt, SOURCE, PAIR, USUAL | changed)
    assert len(link) == len(link.encode()) < 8000
    assert read(link) == share.Link(prompt, "dream-a", **PAIR, settings=changed)


def test_what_no_link_can_carry_is_a_sentence():
    dice = random.Random(0)
    noise = "".join(chr(dice.randint(0x10000, 0x10FFFF)) for _ in range(LONGEST_PROMPT))
    for prompt in (noise, "x" * (LONGEST_PROMPT + 1)):
        with pytest.raises(PageError, match="too long for a link"):
            share.write(prompt, SOURCE, PAIR, USUAL)
    with pytest.raises(PageError, match="half a character at place 6"):
        share.write("2 + 2\ud83d", SOURCE, PAIR, USUAL)


def test_links_of_before_texts_were_packed_still_work():
    prompt = "贝壳" * 995
    assert read("?" + urlencode({"prompt": prompt, "left": "vanilla"})) == share.Link(prompt, left="vanilla")


def test_a_byte_order_mark_is_no_part_of_a_prompt():
    assert share.write("\ufeff 2 + 2\n", SOURCE, PAIR, USUAL) == share.write("2 + 2", SOURCE, PAIR, USUAL)


def deflated(content):
    return base64.urlsafe_b64encode(zlib.compress(content)).decode().rstrip("=")


GOOD = pack("Wie viele Muscheln hat Mia?")
PACKED = {
    "cut short": (GOOD[:-3], "damaged"),
    "a letter changed": (GOOD[:9] + ("A" if GOOD[9] != "A" else "B") + GOOD[10:], "damaged"),
    "a letter lost": (GOOD[:9] + GOOD[10:], "damaged"),
    "a letter that is none": (GOOD[:9] + "*" + GOOD[10:], "damaged"),
    "something behind it": (base64.urlsafe_b64encode(zlib.compress(b"2 + 2") + b"more").decode(), "damaged"),
    "nothing": ("", "damaged"),
    "not base64": ("贝壳", "damaged"),
    "not deflated": ("SGVsbG8", "damaged"),
    "not UTF-8": (deflated(b"\xff\xfe2 + 2"), "damaged"),
    "a character too many": (deflated(b"x" * (LONGEST_PROMPT + 1)), "more than 2000 characters"),
    "three bytes each": (deflated("贝".encode() * (LONGEST_PROMPT + 1)), "more than 2000 characters"),
    "a bomb": (deflated(bytes(4_000_000)), "more than 2000 characters"),
}


@pytest.mark.parametrize(("value", "words"), PACKED.values(), ids=PACKED)
def test_a_packed_prompt_that_is_none_is_a_sentence_and_the_rest_is_taken(value, words):
    link = read("?" + urlencode({"packed": value, "temperature": "0.5"}))
    assert words in link.sentence and len(link.sentence) < 120
    assert link.prompt is None and link.settings["temperature"] == 0.5


def test_a_bomb_takes_no_memory():
    value = deflated(bytes(4_000_000))
    assert len(value) < share.LONGEST_LINK
    tracemalloc.start()
    read(f"?packed={value}")
    assert tracemalloc.get_traced_memory()[1] < 500_000
    tracemalloc.stop()


def test_of_two_prompts_the_readable_one_is_taken():
    link = read(f"?prompt=2&packed={GOOD}")
    assert link.prompt == "2" and "two prompts" in link.sentence


def test_what_is_not_ours_is_left_alone():
    assert read("?__theme=dark&utm_source=x&view=api") == share.Link()


def test_an_endless_link_is_refused_as_a_whole():
    link = read("?temperature=0.5&x=" + "y" * share.LONGEST_LINK)
    assert "longer than" in link.sentence and link.settings == {}


def test_a_reach_is_judged_beside_the_attention_it_needs():
    link = read("?reach=masks&attention=block_causal")
    assert link.settings == {"reach": "masks", "attention": "block_causal"} and not link.sentence
    assert "block-causal" in read("?reach=masks&attention=full").sentence


def test_every_setting_of_the_page_can_be_in_a_link():
    changed = {
        "max_new_tokens": 48, "block_size": 24, "tau_conf": 0.5, "confidence": "margin", "tau_add": 0.3, "tau_act": 0.2,
        "lookahead": 3, "confidence_floor": 0.4, "anchor_floor": 0.3, "score_creation_weight": 0.5, "reach": "block",
        "attention": "block_causal", "temperature": 1.5, "seed": 9,
    }  # fmt: skip
    for field in RULES:
        low, high = field.metadata.get("range", (0, 0))
        changed[field.name] = field.metadata["choices"][-1] if "choices" in field.metadata else high if field.default != high else low
    alone = {"attention": "full", "branching": "lookahead", "selection": "threshold", "remask": "none"}  # what goes with all the others
    changed |= alone | {"suffix": "masks", "lookahead": 0, "temperature": 0.0, "leap_links": "clique"}
    assert set(changed) == set(NAMES)
    told = {name: value for name, value in changed.items() if value != USUAL[name]}
    assert read(share.write("p", SOURCE, PAIR, changed)).settings == told
