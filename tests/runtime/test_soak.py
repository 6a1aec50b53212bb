"""A process that serves different prompts stays as large as it is."""

import json
import subprocess
import sys

import pytest

from .soak import WARM, prompts

MOST = 20  # megabytes of growth


@pytest.mark.timeout(900)
def test_two_hundred_different_prompts_leave_the_process_as_large_as_it_was():
    assert len(set(prompts(200))) == 200
    done = subprocess.run([sys.executable, "-m", "tests.runtime.soak"], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    megabytes = json.loads(done.stdout)["megabytes"]
    assert megabytes["200"] - megabytes[str(WARM)] <= MOST, megabytes
