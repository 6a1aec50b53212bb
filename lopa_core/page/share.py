"""Permalinks: prompt and settings in the query string, only what differs from the model's own settings.

The prompt stands in a link as it is while that stays short, else packed, so that a text of any script fits; the rest can
always be read and changed by hand.

A link is anybody's text: it is bounded, every value is checked, and a wrong one is said in a sentence while all the
others are taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from ..decode.decoders import DECODERS
from ..decode.settings import DecodeSettings, SettingsError
from ..model.source import Source
from .packing import PackingError, pack, unpack
from .shelf import LONGEST_PROMPT, PageError, Shelf, cleaned
from .widgets import NAMES, RANGES, SIDES, defaults
from .words import plain

REPLAY = "replay"  # ?replay=NAME opens a recording
TABS = ("race", "decoders", "scaling")
OLD = {"left": "baseline"}  # as links of version 0.2 call it
LONGEST_LINK = 8000  # characters of a query string; browsers and proxies take about this much
READABLE = 2000  # characters up to which a link has its prompt as it is: what every program takes
PACKED = "packed"  # ?packed=… in the place of ?prompt=…


@dataclass(slots=True)
class Link:
    """What a query string asks for. settings: only those it names; sentence: what of it could not be used."""

    prompt: str | None = None
    model: str | None = None
    left: str | None = None
    right: str | None = None
    tab: str | None = None
    replay: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    sentence: str = ""

    @property
    def empty(self) -> bool:
        return self == Link()


def write(prompt: str, source: Source, sides: Mapping[str, str], values: Mapping[str, Any]) -> str:
    """The query string, with its "?", of a prompt, the decoders on both sides, and settings.

    Raises:
        PageError: if the prompt is too long for a link, or no text.
    """
    text = cleaned(prompt)
    usual = defaults(source)
    parts: dict[str, Any] = {"model": source.name} | {side: sides[side] for side in SIDES}
    parts |= {name: short(values[name]) for name in NAMES if values[name] != usual[name]}
    link = "?" + urlencode({"prompt": text} | parts)
    if len(link) > READABLE:
        link = min(link, "?" + urlencode({PACKED: pack(text)} | parts), key=len)
    if len(text) > LONGEST_PROMPT or len(link) > LONGEST_LINK:
        raise PageError(f"This prompt is too long for a link of {LONGEST_LINK} characters: run it and download its trace instead.")
    return link


def short(value: Any) -> Any:
    """16.0 as 16: a slider's whole number may arrive as a float."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read(query: Mapping[str, str], shelf: Shelf) -> Link:
    """What a query string asks for; what is not ours in it (a theme, a tracker's mark) is left alone."""
    link = Link(replay=query.get(REPLAY))
    if sum(len(name) + len(value) for name, value in query.items()) > LONGEST_LINK:
        return Link(sentence=f"This link is longer than {LONGEST_LINK} characters, so nothing of it was used.")
    wrong = [*read_names(query, link, shelf), *read_settings(query, link, shelf.source(link.model or shelf.first))]
    if wrong:
        link.sentence = "Of this link something was left out: " + " ".join(wrong)
    return link


def read_names(query: Mapping[str, str], link: Link, shelf: Shelf) -> list[str]:
    """Prompt, model, decoders and tab into `link`; returns sentences on what could not be used."""
    wrong = []
    prompt = query.get("prompt")
    if prompt is not None and len(prompt) > LONGEST_PROMPT:
        wrong.append(f"The prompt has {len(prompt)} characters; this page takes up to {LONGEST_PROMPT}.")
    elif prompt:
        link.prompt = prompt
    if PACKED in query and prompt:
        wrong.append("It has two prompts; the packed one was left out.")
    elif PACKED in query:
        try:
            link.prompt = unpack(query[PACKED], LONGEST_PROMPT)
        except PackingError as error:
            wrong.append(f"The packed prompt {error}.")
    models = [name for _, name in shelf.choices()]
    for name, allowed in {"model": models, **dict.fromkeys(SIDES, DECODERS), "tab": TABS}.items():
        asked = query.get(name, query.get(OLD.get(name, name)))
        if asked in allowed:
            setattr(link, name, asked)
        elif asked is not None:
            wrong.append(f"There is no {'decoder' if name in SIDES else name} {asked[:60]!r} here.")
    return wrong


def read_settings(query: Mapping[str, str], link: Link, source: Source) -> list[str]:
    """The settings into `link`, one by one; returns sentences on what could not be used."""
    wrong = []
    usual = defaults(source)
    for name in NAMES:
        if name not in query:
            continue
        try:
            link.settings[name] = value_of(query[name], usual[name])
            DecodeSettings(**{name: link.settings[name]} | loose(name, link.settings[name]))
            within(name, link.settings[name])
        except ValueError as error:  # SettingsError is one
            link.settings.pop(name, None)
            told = plain(str(error)) if isinstance(error, SettingsError) else plain(f"{name} cannot be {query[name][:40]!r}.")
            wrong.append(told)
    try:
        DecodeSettings(**usual | link.settings)
    except SettingsError as error:  # each is fine, together they are not
        wrong.append(plain(str(error)))
    return wrong


def within(name: str, value: Any) -> None:
    """Raise SettingsError where the page's slider does not reach."""
    low, high, _ = RANGES.get(name, (value, value, 1))
    if not low <= value <= high:
        raise SettingsError(f"{name} goes from {low:g} to {high:g} on this page, so not {value:g}.")


def loose(name: str, value: Any) -> dict[str, Any]:
    """Partners with which a setting that does not go with every other one is judged alone."""
    if name == "reach":
        return {"attention": "block_causal"}
    if name == "block_size" and isinstance(value, int) and value > 0:
        return {"max_new_tokens": value}
    return {"block_size": 1} if name == "max_new_tokens" else {}


def value_of(text: str, like: Any) -> Any:
    """A setting's text as what it is; a whole number stays one. Raises ValueError."""
    if isinstance(like, str):
        return text
    return int(text) if isinstance(like, int) or text.lstrip("-").isdecimal() else float(text)
