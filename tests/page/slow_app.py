"""app.py with a pause in every forward, so that a browser can watch a race and stop it. Run as a script."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import app
from lopa_core.runtime.local import LocalEngine

forward = LocalEngine.forward


def slow_forward(engine, window):
    time.sleep(0.02)
    return forward(engine, window)


LocalEngine.forward = slow_forward
sys.exit(app.main())
