"""Which model a visitor meets while another one is on its way."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lopa_core.model.source import read_source
from lopa_core.page.shelf import PageError, Shelf

from .samples import page_model


def coming(**changes):
    """An Opening of the embedded model, as far as a shelf knows one."""
    told = {"source": read_source(), "model": None, "state": "downloading, 1.0 GB of 2.0 GB", "error": "", "close": lambda: None}
    return SimpleNamespace(**told | changes)


def test_one_model_is_all_there_is():
    shelf = Shelf(page_model())
    assert (shelf.first, shelf.choices(), shelf.notice()) == ("dream-a", [("dream-a", "dream-a")], "")
    assert shelf.take("dream-a") is shelf.main and "coming" not in shelf.health()
    with pytest.raises(PageError, match="no model 'nowhere' here"):
        shelf.take("nowhere")


def test_a_model_on_its_way_is_on_the_menu_but_not_taken():
    shelf = Shelf(page_model(), opening=coming())
    assert shelf.first == "dream-a" and [name for _, name in shelf.choices()] == ["lopa-tiny", "dream-a"]
    assert shelf.notice() == ("LoPA tiny (5M, embedded) is on its way (downloading, 1.0 GB of 2.0 GB). Until it is here, dream-a answers.")
    with pytest.raises(PageError, match="not here yet .downloading.*take another"):
        shelf.take("lopa-tiny")
    health = shelf.health()
    assert health["state"] == "ready" and health["coming"]["state"].startswith("downloading")


def test_once_it_has_come_it_goes_first():
    came = SimpleNamespace(name="lopa-tiny", source=read_source(), health=lambda: {"state": "ready"})
    shelf = Shelf(page_model(), opening=coming(model=came))
    assert shelf.first == "lopa-tiny" and shelf.take("lopa-tiny") is came and shelf.take("dream-a").name == "dream-a"
    assert shelf.notice() == "" and shelf.health() == {"state": "ready", "model": "lopa-tiny"}


def test_if_it_never_comes_the_page_says_why():
    shelf = Shelf(page_model(), opening=coming(error="The disk is full.", state="failed"))
    assert "cannot be used here: The disk is full. dream-a answers instead." in shelf.notice()
    with pytest.raises(PageError, match="The disk is full. Meanwhile, take another"):
        shelf.take("lopa-tiny")
    assert shelf.health()["coming"] == {"model": "lopa-tiny", "state": "failed", "reason": "The disk is full."}


def test_closing_the_shelf_closes_them_all():
    closed = []
    one = page_model()
    one.close = lambda: closed.append("one")
    Shelf(one, opening=coming(close=lambda: closed.append("coming"))).close()
    assert closed == ["one", "coming"]
