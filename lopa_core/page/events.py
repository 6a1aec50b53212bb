"""Which event of the page runs what.

Traces on screen are kept per visitor, for what-ifs.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr

from ..decode.decoders import DECODERS
from ..tasks.examples import known
from ..trace.check import TraceError
from ..trace.trace import Trace
from ..view.state import loaded, recorded
from . import gallery, share
from .queueing import PRIVATE, Controls, begin, run_behind
from .rules import in_a_line
from .run import Running, Stop, start, states
from .shelf import PageError, Shelf
from .what_if import what_if
from .widgets import NAMES, SIDES, defaults, preset_values

# the address bar takes the link too, and the field shows it where the clipboard is out of reach
SHOW_LINK = """(query) => {
    const page = query.startsWith('?') ? location.origin + location.pathname + query : query;
    if (query.startsWith('?')) history.replaceState(null, '', query);
    navigator.clipboard?.writeText(page).catch(() => {});
    return page;
}"""
TO_RUN = "() => { scrollTo(0, 0); document.querySelector('#lv-run')?.focus({ preventScroll: true }); }"


@dataclass(frozen=True, slots=True)
class Page:
    """The components events connect. held: the traces on screen, a visitor's own."""

    prompt: gr.Textbox
    run: gr.Button
    stop: gr.Button
    share: gr.Button
    link: gr.Textbox
    waiting: gr.HTML
    banner: gr.HTML
    chips: dict[str, gr.Button]
    upload: gr.UploadButton
    viewer: gr.HTML
    held: gr.State
    widgets: dict[str, Any]
    tabs: gr.Tabs
    cards: gr.HTML

    @property
    def asked(self) -> list[Any]:
        """Prompt, model, both decoders and settings: what a race is made of."""
        return [self.prompt, *(widget for name, widget in self.widgets.items() if name != "preset")]

    @property
    def told(self) -> list[Any]:
        """What a run writes."""
        return [self.viewer, self.banner, self.held]


def connect(page: gr.Blocks, shelf: Shelf, parts: Page) -> None:
    controls = Controls(parts.run, parts.stop, parts.waiting, parts.banner, gr.State(None))
    connect_run(shelf, parts, controls)
    connect_what_if(shelf, parts, controls)
    controls.connect_stop()
    parts.prompt.submit(fn=None, js="() => { document.querySelector('#lv-run').click(); }", api_visibility="private")
    connect_settings(shelf, parts)
    connect_sides(parts)
    connect_sharing(page, shelf, parts)


def connect_run(shelf: Shelf, parts: Page, controls: Controls) -> None:
    def check(*asked: Any) -> tuple[Any, ...]:
        return begin(lambda: race_of(shelf, asked))

    def live_race(wish: Stop, *asked: Any) -> Iterator[tuple[Any, ...]]:
        yield from told(states(lambda: race_of(shelf, asked), wish))

    checked = parts.run.click(check, parts.asked, controls.checked, **PRIVATE)
    run_behind(checked, live_race, [controls.wish, *parts.asked], parts.told, controls)


def connect_what_if(shelf: Shelf, parts: Page, controls: Controls) -> None:
    """The viewer's event says which branch of which pass of which lane."""
    fork = gr.State(None)

    def check(held: list[Trace], event: gr.EventData) -> tuple[Any, ...]:
        chosen = tuple(getattr(event, name, None) for name in ("lane", "round", "branch"))
        if not all(isinstance(each, int) for each in chosen):
            chosen = (-1, -1, -1)
        return chosen, *begin(lambda: what_if(shelf, held, *chosen))

    def other_future(wish: Stop, held: list[Trace], chosen: tuple[int, int, int]) -> Iterator[tuple[Any, ...]]:
        yield from told(states(lambda: what_if(shelf, held, *chosen), wish))

    checked = parts.viewer.whatif(check, parts.held, [fork, *controls.checked], **PRIVATE)
    run_behind(checked, other_future, [controls.wish, parts.held, fork], parts.told, controls)


def connect_settings(shelf: Shelf, parts: Page) -> None:
    def of_model(model: str, preset: str) -> list[Any]:
        """The settings of another model, once it is chosen."""
        return [gr.update(info=shelf.note(model)), *of_preset(preset, model)]

    def of_preset(preset: str, model: str) -> list[Any]:
        values = preset_values(preset, shelf.source(model))
        return [values[name] for name in NAMES]

    model, preset = parts.widgets["model"], parts.widgets["preset"]
    fields = [parts.widgets[name] for name in NAMES]
    model.change(of_model, [model, preset], [model, *fields], **PRIVATE)
    preset.input(of_preset, [preset, model], fields, **PRIVATE)


def connect_sides(parts: Page) -> None:
    """What each decoder is, once it is chosen; a card of the decoders' tab puts its decoder on the right."""
    left, right = (parts.widgets[side] for side in SIDES)
    for side in (left, right):
        side.change(lambda name: gr.update(info=in_a_line(name)) if name else gr.skip(), side, side, **PRIVATE)
    chosen = parts.cards.race(race_it, [left, right], [left, right, parts.tabs], **PRIVATE)
    chosen.then(fn=None, js=TO_RUN, api_visibility="private")


def connect_sharing(page: gr.Blocks, shelf: Shelf, parts: Page) -> None:
    asked = [widget for name, widget in parts.widgets.items() if name != "preset"]
    made = parts.share.click(link_maker(shelf), parts.asked, parts.link, **PRIVATE)
    made.then(fn=None, inputs=parts.link, outputs=parts.link, js=SHOW_LINK, api_visibility="private")
    shown = [parts.viewer, parts.held, parts.banner]
    for name, chip in parts.chips.items():
        chip.click(opener(shelf, lambda name=name: gallery.recording(name)), None, shown, **PRIVATE)
    parts.upload.upload(open_file(shelf), parts.upload, shown, **PRIVATE)
    page.load(open_link(shelf), None, [parts.prompt, *asked, *shown, parts.tabs], **PRIVATE)


# ---- what they do --------------------------------------------------------------------------------------------------


def race_of(shelf: Shelf, asked: tuple[Any, ...]) -> Running:
    prompt, model, left, right, *values = asked
    return start(shelf, prompt, model, left, right, dict(zip(NAMES, values)))


def race_it(left: str, right: str, event: gr.EventData) -> tuple[Any, ...]:
    """Left, right and tab once a decoder is to race on the right; if it stands on the left, the two change places."""
    name = getattr(event, "decoder", None)
    if not isinstance(name, str) or name not in DECODERS:
        return gr.skip(), gr.skip(), gr.skip()
    return right if name == left else left, name, gr.update(selected="race")


def told(states: Iterator[tuple[Any, str, Any]]) -> Iterator[tuple[Any, ...]]:
    """A run's states as outputs for viewer, banner and held traces."""
    for state, sentence, traces in states:
        yield gr.skip() if state is None else state, sentence, gr.skip() if traces is None else traces


def link_maker(shelf: Shelf) -> Callable[..., Any]:
    def make_link(prompt: str, model: str, left: str, right: str, *values: Any) -> Any:
        try:
            sides = {"left": left, "right": right}
            return gr.update(value=share.write(prompt, shelf.source(model), sides, dict(zip(NAMES, values))), visible=True)
        except PageError as error:
            return gr.update(value=str(error), visible=True)

    return make_link


def show(shelf: Shelf, traces: tuple[Trace, ...]) -> tuple[Any, list[Trace], str]:
    """Recorded traces as outputs for viewer, held traces and banner."""
    about = recorded(uuid.uuid4().hex, traces, shelf.cannot(traces[0].model))
    return loaded(about, traces, known(traces[0].prompt)), list(traces), ""


def opener(shelf: Shelf, read: Callable[[], tuple[Trace, ...]]) -> Callable[[], tuple[Any, ...]]:
    def open_recording() -> tuple[Any, ...]:
        try:
            return show(shelf, read())
        except (PageError, TraceError) as error:
            return gr.skip(), gr.skip(), str(error)

    return open_recording


def open_file(shelf: Shelf) -> Callable[[str], tuple[Any, ...]]:
    def open_upload(path: str) -> tuple[Any, ...]:
        return opener(shelf, lambda: gallery.uploaded(path))()

    return open_upload


def open_link(shelf: Shelf) -> Callable[[gr.Request], tuple[Any, ...]]:
    """Prompt, model, decoders, settings, viewer, held traces, banner and tab as the page's address asks.

    The model may have come since the page was built, so it is set on every visit.
    """

    def open_address(request: gr.Request) -> tuple[Any, ...]:
        link = share.read(dict(request.query_params), shelf)
        model = link.model or shelf.first
        values = defaults(shelf.source(model)) | link.settings
        menu = gr.update(value=model, info=shelf.note(model))
        form = [link.prompt, menu, link.left, link.right, *(values[name] for name in NAMES)]
        # without anything to say it leaves the banner alone: a quick visitor may have one by now
        shown = [gr.skip(), gr.skip(), link.sentence or gr.skip()]
        if link.replay is not None:
            shown = list(opener(shelf, lambda: gallery.recording(link.replay))())
            shown[2] = " ".join(each for each in (shown[2], link.sentence) if each)
        tab = gr.update(selected=link.tab) if link.tab else gr.skip()
        return *(gr.skip() if each is None else each for each in form), *shown, tab

    return open_address
