"""The panel that tells what the page runs on."""

from lopa_core.page.shelf import Shelf
from lopa_core.page.system import line, state, teller

from .samples import page_model

WORKER = {"rank": 1, "device": "GPU <b>", "at": "ready", "answers": True, "memory": {"used": 2**30, "total": 24 * 2**30}}


def test_a_model_in_this_process_tells_its_memory():
    told = teller(Shelf(page_model()))()
    assert told["works"] and told["state"] == "ready, float32, in this process"
    assert len(told["lines"]) == 1 and told["lines"][0].startswith("a test machine, ") and told["lines"][0].endswith(" GB")


def test_workers_are_told_one_by_one():
    assert line(WORKER) == "rank 1: GPU <b>, 1.0 of 24.0 GB"
    assert line(WORKER | {"answers": False}) == "rank 1: GPU <b>, ready, does not answer"


def test_a_pool_that_lost_a_device_says_so():
    health = {"state": "degraded", "reason": "cuda:2 is gone.", "dtype": "bfloat16", "ranks": 3, "workers": [WORKER] * 3}
    assert state(health) == "degraded, bfloat16, 3 workers, branches spread over them (cuda:2 is gone.)"
