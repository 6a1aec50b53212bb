"""app.py with a pause in every forward, so that a browser can watch a race and stop it. Run as a script.

One token per pass gets a longer one: a run that is still going when a second, slower browser comes to see it.

LOPA_TEST_FORWARDS names a file that grows by a byte with every forward: whether the engine still works.
"""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import app
from lopa_core.runtime.local import LocalEngine

forward = LocalEngine.forward
counter = os.environ.get("LOPA_TEST_FORWARDS", os.devnull)


def slow_forward(engine, window):
    time.sleep(0.25 if engine.settings.selection == "one" else 0.02)
    with open(counter, "ab") as file:
        file.write(b".")
    return forward(engine, window)


LocalEngine.forward = slow_forward
app.leave(app.main())
