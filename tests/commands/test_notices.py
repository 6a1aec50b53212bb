"""What is assumed of a checkpoint, or left aside, reaches whoever decodes with it: commands, workers, the page."""

from __future__ import annotations

import json
import logging
import shutil

import pytest

from lopa_core.__main__ import main
from lopa_core.model.source import read_source
from lopa_core.page.shelf import Shelf
from lopa_core.runtime.opening import Opening, Place
from lopa_core.runtime.pooled import open_pool

from ..helpers.models import MODELS

FLAGS = ["--prompt-ids", "165,485,77,202", "--max-new-tokens", "16", "--json"]
ALIGNMENT, ATTENTION = "does not tell which slot a row predicts", "does not tell how it was trained"
ADAPTER = "adapter_model.safetensors holds a LoRA adapter"


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """dream-a's weights under the type of an autoregressive model, as Open-dCoder has them, beside an adapter's."""
    folder = tmp_path_factory.mktemp("plain") / "coder"
    folder.mkdir()
    shutil.copy(MODELS / "dream-a" / "model.safetensors", folder)
    shutil.copy(MODELS / "dream-a-lora" / "adapter_model.safetensors", folder)
    raw = json.loads((MODELS / "dream-a" / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(raw | {"model_type": "qwen2"}), encoding="utf-8")
    return folder


def decoded(capsys, folder, *flags):
    """(ids, standard error); standard output holds the one JSON object and nothing else."""
    assert main(["decode", "--model", str(folder), *FLAGS, *flags]) == 0
    seen = capsys.readouterr()
    return json.loads(seen.out)["ids"], seen.err


def test_the_alignment_is_told_and_set(capsys, plain):
    wanted, nothing = decoded(capsys, MODELS / "dream-a")
    assert nothing == ""
    assumed, told = decoded(capsys, plain)
    assert assumed != wanted and all(words in told for words in (ALIGNMENT, ATTENTION, ADAPTER))
    assert [line.startswith("lopa_core: ") for line in told.splitlines()] == [True] * 3
    shifted, told = decoded(capsys, plain, "--shifted")
    assert shifted == wanted and ALIGNMENT not in told
    unshifted, told = decoded(capsys, plain, "--no-shifted")
    assert unshifted == assumed and ALIGNMENT not in told
    assert decoded(capsys, MODELS / "dream-a", "--no-shifted")[0] == assumed


def test_workers_are_told_the_alignment_and_tell_of_the_weights(capsys, plain):
    wanted, _ = decoded(capsys, MODELS / "dream-a")
    ids, told = decoded(capsys, plain, "--shifted", "--ranks", "2", "--threads", "1")
    assert ids == wanted and ADAPTER in told and told.count(ADAPTER) == 1


def test_notices_of_workers_come_with_their_model(plain):
    model = open_pool(read_source(plain).fetch(), ranks=1, device="cpu", threads=1)
    try:
        model.wait()
        assert [any(words in notice for notice in model.notices) for words in (ALIGNMENT, ATTENTION, ADAPTER)] == [True] * 3
    finally:
        model.close()


def test_the_page_shows_them_under_the_menu(plain, caplog):
    with caplog.at_level(logging.WARNING):
        opening = Opening(read_source(plain), Place(ranks=0, device="cpu"))
        assert opening.wait(60) and opening.model
    shelf = Shelf(opening=opening)
    assert ADAPTER in shelf.note("coder") and ALIGNMENT in shelf.note("coder") and ADAPTER in caplog.text
    assert shelf.note("coder").startswith("A checkpoint folder of this machine. ")
