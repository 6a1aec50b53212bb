"""What the page costs, measured: `make bench-page`. Nothing here is asserted; `python -m lopa_core measure page` keeps the numbers.

- replay: a trace of 512 tokens x 8 lookahead branches as a self-contained file, and how fast it scrubs in Chromium
- streaming: the same run with a page attached and without, on the decode's own clock and on the wall's
"""

from __future__ import annotations

import argparse
import copy
import json
import time
import uuid
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import torch
from gradio_client import Client
from gradio_client.utils import apply_diff
from playwright.sync_api import Page, sync_playwright

from lopa_core.decode.settings import DecodeSettings
from lopa_core.model.source import read_source
from lopa_core.page import share
from lopa_core.page.widgets import NAMES
from lopa_core.runtime.session import Model, open_model
from lopa_core.trace.metrics import measure
from lopa_core.trace.trace import Trace
from lopa_core.view.replay import replay_html
from lopa_core.view.state import loaded, recorded
from tests.page.conftest import CHROMIUM, FLAGS, running

MODELS = Path(__file__).parents[1] / "conformance" / "models"
PROMPT = [165, 485, 77, 202, 333, 24, 37]
LONG = DecodeSettings(max_new_tokens=512, block_size=32, lookahead=8, tau_conf=0.9, tau_add=0.1)
LANES = ("confidence", "lopa")
SCRUB_SECONDS = 4
# every frame jumps by a stride through all passes, there and back; the browser's own frames are counted
SCRUB = """(seconds) => new Promise((done) => {
    const { viewer } = document.querySelector('#lv-viewer');
    const { end } = viewer.state();
    const frames = [];
    let at = 0, step = Math.max(1, Math.round(end / 90));
    let last = performance.now();
    const began = last;
    const frame = (now) => {
        frames.push(now - last);
        last = now;
        if (now - began > seconds * 1000) return done(frames.slice(1));
        at += step;
        if (at < 0 || at > end) { step = -step; at += 2 * step; }
        viewer.seek(at);
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
})"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="runs with and without a page, in turn (default %(default)s)")
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    model = open_model(read_source(MODELS / "dream-a").fetch())
    print(json.dumps({"replay": replay(race(model)), "streaming": streaming(repeats)}, indent=2))


def race(model: Model) -> list[Trace]:
    running_race = model.race(PROMPT, {name: LONG.decoder(name) for name in LANES})
    for _ in running_race.run():
        pass
    return model.traces(running_race, " ".join(map(str, PROMPT)))


def replay(traces: list[Trace]) -> dict[str, object]:
    """Size of the file, and frames per second while scrubbing with every chart drawn."""
    page = replay_html(loaded(recorded("bench", traces), traces))
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "replay.html"
        file.write_text(page, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS.split())
        tab = browser.new_page(viewport={"width": 1440, "height": 1000})
        tab.goto(file.as_uri())
        tab.wait_for_selector(".lv-lane .lv-t")
        for card in tab.locator(".lv-figure:not([hidden])").all():  # charts are drawn when they come into sight
            card.scroll_into_view_if_needed()
            card.locator(".main-svg").first.wait_for()
        rates = {}
        for where in (".lv-lane", "[data-figure^=tree]"):
            tab.locator(where).first.scroll_into_view_if_needed()
            tab.wait_for_timeout(500)
            frames = sorted(tab.evaluate(SCRUB, SCRUB_SECONDS))
            slow = frames[int(len(frames) * 0.95)]
            rates[where] = {"frames_per_second": round(1000 * len(frames) / sum(frames), 1), "slowest_5_percent_ms": round(slow, 1)}
        browser.close()
    rounds = [len(trace.rounds) for trace in traces]
    return {"megabytes": round(len(page.encode()) / 1e6, 2), "rounds": rounds, "rows": measure(traces[1]).branch_forwards, "scrub": rates}


def streaming(repeats: int) -> dict[str, object]:
    """The same race three ways in turn, least of all repeats: alone; with a client that reads the page's event stream,
    as a visitor elsewhere would; with a browser that draws on this very machine and takes its cores."""
    source = read_source(MODELS / "dream-a")
    found: dict[str, list[tuple[float, float]]] = {"alone": [], "read": [], "drawn here": []}
    asked = [" ".join(map(str, PROMPT)), "dream-a", *LANES, *(asdict(LONG)[name] for name in NAMES)]
    with running("--model", str(MODELS / "dream-a"), script="../../app.py") as (url, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS.split())
        client = Client(url, verbose=False)
        for _ in range(repeats):
            found["alone"].append(alone(client))
            found["read"].append(read(url, asked))
            tab = browser.new_page(viewport={"width": 1440, "height": 1000})
            tab.goto(url + share.write(asked[0], source, dict(zip(("left", "right"), LANES)), asdict(LONG)))
            tab.wait_for_function("document.querySelector('#lv-prompt textarea')?.value.startsWith('165')")
            found["drawn here"].append(drawn(tab))
            tab.close()
        browser.close()
    least = {name: [min(column) for column in zip(*rows)] for name, rows in found.items()}
    own, wall = ({name: round(values[column], 3) for name, values in least.items()} for column in (0, 1))
    ratios = {name: round(values[0] / least["alone"][0], 3) for name, values in least.items()}
    return {"decode_seconds": own, "decode_ratio": ratios, "wall_seconds": wall}


def alone(client: Client) -> tuple[float, float]:
    """(decode seconds of both lanes, seconds in all) of the same decodes in the same process, with nobody looking."""
    began = time.perf_counter()
    told = [client.predict(" ".join(map(str, PROMPT)), decoder=name, settings=asdict(LONG), api_name="/decode") for name in LANES]
    return sum(each["seconds"] for each in told), time.perf_counter() - began


def read(url: str, asked: list[object]) -> tuple[float, float]:
    """The same of a run whose event stream is read to its end."""
    events = {each["api_name"]: each["id"] for each in httpx.get(url + "config").json()["dependencies"]}
    session = uuid.uuid4().hex
    began = time.perf_counter()
    for name, data in (("check", asked), ("live_race", [None, *asked])):
        body = {"data": data, "fn_index": events[name], "session_hash": session}
        path = "gradio_api/queue/join" if name == "live_race" else "gradio_api/run/predict"
        httpx.post(url + path, json=body, timeout=60).raise_for_status()
    state, stream = {}, {"session_hash": session}
    with httpx.stream("GET", url + "gradio_api/queue/data", params=stream, timeout=300) as answer:
        for line in answer.iter_lines():
            message = json.loads(line.removeprefix("data:")) if line.startswith("data:") else {}
            if message.get("msg") == "process_generating" and "lanes" in (new := changed(state, message["output"]["data"][0])):
                state = new
            if message.get("msg") == "process_completed":
                break
    return sum(lane["counts"][-1][1] for lane in state["lanes"]), time.perf_counter() - began


def changed(state: dict, told: object) -> dict:
    """Gradio sends the first state whole, then differences."""
    return told if isinstance(told, dict) else apply_diff(copy.deepcopy(state), told)


def drawn(tab: Page) -> tuple[float, float]:
    """The same of a run on a page in a browser, from the click to the last state."""
    began = time.perf_counter()
    tab.click("#lv-run")
    tab.wait_for_function("document.querySelector('#lv-run').disabled")
    tab.wait_for_selector("#lv-run:not([disabled])")
    wall = time.perf_counter() - began
    row = tab.locator(".lv-card tr", has=tab.get_by_role("rowheader", name="Seconds", exact=True))
    return sum(float(text) for text in row.locator("td").all_inner_texts()), wall


if __name__ == "__main__":
    main()
