"""A Hub on this machine, an empty cache, no token, and no waiting between the library's attempts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.helpers import repositories
from tests.helpers.hub import FakeHub


@pytest.fixture(scope="session")
def folders(tmp_path_factory) -> dict[str, Path]:
    """What the repositories hold; not to be changed."""
    root = tmp_path_factory.mktemp("repositories")
    return {make.__name__: make(root / make.__name__) for make in (repositories.dream, repositories.llada, repositories.adapter)}


@pytest.fixture
def hub(tmp_path, monkeypatch, folders) -> Iterator[FakeHub]:
    """org/dream, org/llada and org/adapter, where the library looks for its Hub."""
    with FakeHub() as server:
        for name, folder in folders.items():
            server.add(f"org/{name}", folder)
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}")
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("time.sleep", lambda _: None)
        yield server
