"""One pool of workers for all tests that do not end it."""

from __future__ import annotations

import pytest

from ..helpers.pools import Stage


@pytest.fixture(scope="session")
def one_stage(tmp_path_factory):
    stage = Stage(tmp_path_factory.mktemp("faults"))
    yield stage
    stage.pool.close()


@pytest.fixture
def stage(one_stage) -> Stage:
    one_stage.ready()
    return one_stage
