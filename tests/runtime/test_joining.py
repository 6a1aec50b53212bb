"""Ranks that differ are told before they share a decode: who, and in what."""

from __future__ import annotations

import threading

import pytest
import torch
import torch.distributed as dist

import app
from lopa_core.model.errors import ModelError
from lopa_core.model.precision import DTYPES
from lopa_core.model.source import read_source
from lopa_core.runtime import joining, worker
from lopa_core.runtime.crew import PoolFault
from lopa_core.runtime.joining import agree, code, differences, identity, other_weights
from lopa_core.runtime.pool import Pool
from lopa_core.runtime.pooled import open_pool
from lopa_core.runtime.session import open_model

from ..helpers.models import MODELS
from ..helpers.pools import QUICK, Stage

pytestmark = pytest.mark.timeout(400)

CHECKPOINT = read_source(MODELS / "dream-a").fetch()
RANKS = ["rank 0", "rank 1", "rank 2"]


def model(dtype=torch.float32):
    return open_model(CHECKPOINT, device="cpu", dtype=dtype)


def met(*models, tensor=1, change=lambda rank: None) -> list[str]:
    """What each of some ranks says when they meet."""
    store, told = dist.HashStore(), [""] * len(models)

    def meet(rank: int) -> None:
        try:
            agree(store, rank, len(models), models[rank], tensor)
        except ModelError as error:
            told[rank] = str(error)

    threads = [threading.Thread(target=meet, args=[rank]) for rank in range(len(models))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def test_ranks_that_are_the_same_meet():
    assert met(model(), model(), model()) == ["", "", ""]


@pytest.mark.parametrize("name", ["norm.weight", "layers.0.ffn_norm.weight", "embed.weight", "layers.1.attention.qkv.bias"])
def test_a_rank_with_one_other_value_is_named_with_the_tensor(name):
    models = [model() for _ in range(3)]
    with torch.no_grad():
        models[1].network.get_parameter(name).view(-1)[0] += 1e-3
    count = len(dict(models[1].network.named_parameters()))
    words = f"rank 1 has other weights than the others ({name} of {count} tensors)"
    told = met(*models)
    assert len(set(told)) == 1 and words in told[0] and told[0].startswith("The ranks differ, so they cannot share a decode: ")


def test_a_rank_in_another_dtype_is_named():
    told = met(model(), model(torch.bfloat16))
    assert all("dtype is bfloat16 on rank 1 and float32 on rank 0" in each and "weights" not in each for each in told)


def test_a_rank_with_other_versions_is_named(monkeypatch):
    """Of three that say what they are, one is made to say something else."""
    here = joining.setup

    def setup(each, tensor):
        other = {"torch": "2.8.0", "this program's code": "0123456789ab", "checkpoint commit": "c0ffee"} if each.name == "odd" else {}
        return here(each, tensor) | {"model": "dream-a"} | other

    monkeypatch.setattr(joining, "setup", setup)
    odd = model()
    odd.name = "odd"
    told = met(model(), model(), odd)[0]
    assert f"torch is 2.8.0 on rank 2 and {torch.__version__} on the others" in told
    assert f"this program's code is 0123456789ab on rank 2 and {code()} on the others" in told
    assert "checkpoint commit is c0ffee on rank 2 and none on the others" in told


def test_more_than_one_may_differ():
    assert differences([{"a": "1"}, {"a": "2"}, {"a": "3"}], RANKS) == "a is 2 on rank 1 and 3 on rank 2 and 1 on rank 0"
    assert differences([{"a": "1"}, {}, {"a": "1"}], RANKS) == "a is unknown on rank 1 and 1 on the others"
    cards = [{"x": "1", "y": "1"}, {"x": "2"}, {"x": "1", "y": "1"}]
    assert other_weights(cards, RANKS) == "rank 1 has other weights than the others (x and 1 more of 2 tensors)"


def test_a_rank_that_does_not_come_is_named(monkeypatch):
    monkeypatch.setattr(joining, "MEETING", 0.2)
    with pytest.raises(ModelError, match="Rank 1 has not loaded its model within 0.2 seconds"):
        agree(dist.HashStore(), 0, 2, model(), 1)


def test_an_adapter_and_a_config_are_part_of_what_a_model_is():
    config = CHECKPOINT.config()
    plain = identity(CHECKPOINT.source, "abc", config)
    adapted = identity(read_source(MODELS / "dream-a", "/somewhere/my-lora").fetch.__self__, "abc", config)
    assert (plain["adapter"], adapted["adapter"], plain["checkpoint commit"]) == ("none", "my-lora", "abc")
    other = identity(CHECKPOINT.source, "abc", type(config)(**{**{n: getattr(config, n) for n in config.__slots__}, "rope_theta": 2.0}))
    assert other["config.json"] != plain["config.json"]


# ---- in workers ------------------------------------------------------------------------------------------------------


def test_workers_that_differ_do_not_start(tmp_path):
    """Once: another start would be the same."""
    (tmp_path / "other-1").write_text("norm.weight")
    stage = Stage(tmp_path)
    try:
        with pytest.raises(
            PoolFault, match=r"^The workers cannot be started: The ranks differ.*rank 1 has other weights .*\(norm"
        ):
            stage.pool.wait(300)
        assert (tmp_path / "starts").read_text().split() in (["0", "1"], ["1", "0"])
    finally:
        stage.pool.close()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_that_can_be_asked_for_is_one_of_a_worker_and_of_the_page(dtype):
    flags = ["--link", "9", "--rank", "0", "--ranks", "1", "--store", "s", "--device", "cpu", "--model", "m", "--dtype", dtype]
    assert worker.parse(flags).dtype == dtype == app.parse(["--dtype", dtype]).dtype


def test_workers_run_in_float64():
    pool = open_pool(CHECKPOINT, ranks=1, device="cpu", dtype=torch.float64, threads=1, patience=QUICK)
    try:
        pool.wait()
        assert pool.health()["dtype"] == "float64"
    finally:
        pool.close()


def test_a_dtype_that_workers_do_not_run_in_is_a_sentence_at_once():
    with pytest.raises(ModelError, match="Workers do not run in float16: take float32, bfloat16, float64."):
        open_pool(CHECKPOINT, ranks=2, device="cpu", dtype=torch.float16)


@pytest.mark.parametrize("told", [["--dtype", "float12"], ["--tensor", "two"], ["--threads", "-1"], ["--whatever"]])
def test_what_a_worker_does_not_understand_is_a_sentence(told):
    flags = ["--link", "9", "--rank", "0", "--ranks", "1", "--store", "s", "--device", "cpu", "--model", "m"]
    with pytest.raises(ModelError, match=f"A worker does not understand.*{told[0]}"):
        worker.parse([*flags, *told])


def test_what_a_worker_does_not_understand_ends_the_starts():
    """At once, and with the reason: not after a minute of restarts."""
    pool = Pool(["cpu", "cpu"], ["--model", str(MODELS / "dream-a"), "--dtype", "float12"], QUICK)
    try:
        with pytest.raises(PoolFault, match="cannot be started: A worker does not understand.*--dtype"):
            pool.wait(300)
        assert not pool.left_out
    finally:
        pool.close()
