"""How far a download is: bytes of several files added up for a page's or a console's bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

Progress = Callable[[int, int, str], None]  # bytes done, bytes in all, the file that is loaded
PACE = 0.1  # seconds between two calls, so that a page is not flooded


class Meter:
    """Tells `progress` of files that arrive one after the other: rising, at most every PACE seconds, and the end of all."""

    def __init__(self, everything: int, progress: Progress | None) -> None:
        self.everything, self.progress = everything, progress
        self.before = self.now = self.size = 0
        self.name, self.told, self.when = "", -1, float("-inf")

    def begin(self, name: str, size: int) -> None:
        """The next file, or the same once more: what had arrived of it is forgotten."""
        self.name, self.size, self.now = name, size, 0

    def moved(self, count: float) -> None:
        """So many bytes more of this file; fewer than none where the server starts it anew."""
        self.now += int(count)
        self.tell()

    def end(self) -> None:
        """The file is here, however many of its bytes had to be loaded for that."""
        self.before, self.now = self.before + self.size, 0
        self.size = 0
        self.tell()

    def tell(self) -> None:
        done = self.before + min(max(self.now, 0), self.size)
        late = time.monotonic() - self.when >= PACE or done == self.everything
        if self.progress and done > self.told and late:
            self.told, self.when = done, time.monotonic()
            self.progress(done, self.everything, self.name)

    def bar(self) -> type[tqdm]:
        """For huggingface_hub's tqdm_class: a bar that shows nothing and tells this meter."""
        meter = self

        class Bar(tqdm):
            def __init__(self, *_: object, initial: float = 0, **__: object) -> None:
                super().__init__(disable=True)
                meter.moved(initial)

            def update(self, n: float | None = 1) -> None:
                meter.moved(n or 0)

            def update_transfer(self, n: float | None = 1) -> None:
                """Bytes that Xet has received, compressed: what counts is what it has written."""

            def set_transfer_postfix_str(self, *_: object, **__: object) -> None:
                """Xet's speed, which nobody is shown."""

        return Bar


@contextmanager
def console_bar() -> Iterator[Progress]:
    """A progress for the command line: a bar on standard error for each download; in a log file, a line every half minute."""
    bar: tqdm | None = None

    def show(done: int, everything: int, name: str) -> None:
        nonlocal bar
        if bar is not None and bar.total != everything:  # an adapter behind its model
            bar.close()
            bar = None
        if bar is None:
            pace = 0.1 if sys.stderr.isatty() else 30.0
            bar = tqdm(total=everything, unit="B", unit_scale=True, mininterval=pace, dynamic_ncols=True, file=sys.stderr)
        bar.set_description_str(name, refresh=False)
        bar.update(done - bar.n)

    try:
        yield show
    finally:
        if bar is not None:
            bar.close()
