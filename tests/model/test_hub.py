"""A model by name: folders, Hub ids and revisions; what is fetched, in which order; what the cache is good for."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants

from lopa_core.decode.settings import DecodeSettings
from lopa_core.model.checkpoint import load
from lopa_core.model.errors import ModelError
from lopa_core.model.hub import Found, find, find_adapter
from lopa_core.model.tokenizer import Tokenizer
from lopa_core.runtime.local import LocalEngine
from tests.helpers import repositories
from tests.helpers.decoding import run

ROOT = Path(__file__).parents[2]


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def asked(hub) -> list[str]:
    """The files whose content was fetched, in order."""
    return [path.split("/resolve/")[1].partition("/")[2] for method, path in hub.requests if method == "GET" and "/resolve/" in path]


def decoded(folder: Path, adapter: Path | None = None) -> list[int]:
    engine = LocalEngine(load(folder, adapter=adapter))
    return run([5, 6, 7], engine, DecodeSettings(max_new_tokens=16, block_size=8, lookahead=2))[1].tokens


def test_a_folder_is_taken_as_it_is(folders):
    found = find(folders["dream"])
    assert (found.folder, found.id, found.commit, found.name) == (folders["dream"], None, None, "dream")
    assert find(str(folders["llada"])).folder == folders["llada"]
    assert find_adapter(folders["adapter"]).folder == folders["adapter"]


def test_a_folder_has_no_revisions(folders):
    with pytest.raises(ModelError, match="is a folder, which has no revision 'main'"):
        find(folders["dream"], revision="main")


@pytest.mark.parametrize("name", ["dream", "./models/dream", "~/models", "a/b/c", "org/", "/no/such/folder", "or g/name", "org/na--me", ""])
def test_what_is_neither_a_folder_nor_an_id_is_told_both_ways(name):
    with pytest.raises(ModelError) as told:
        find(name)
    assert repr(name) in str(told.value) and "folder" in str(told.value) and "org/name" in str(told.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("lopa-tyni", "lopa-tiny"), ("Dream-Instruct-", "dream-instruct"), ("GSAI-ML-LLaDA-8B-Instruct", "GSAI-ML/LLaDA-8B-Instruct")],
)
def test_a_misspelt_name_of_the_catalogue_is_told(name, meant):
    with pytest.raises(ModelError, match=f"did you mean .*{meant}"):
        find(name)


def test_a_file_is_no_model(folders):
    with pytest.raises(ModelError, match="config.json is a file: give the folder"):
        find(folders["dream"] / "config.json")


def test_a_sharded_repository_decodes_as_its_folder_does(hub, folders):
    found = find("org/dream")
    assert found == Found(found.folder, "org/dream", hub.repositories["org/dream"].refs["main"])
    assert found.name == "org/dream" and found.folder.name == found.commit
    assert decoded(found.folder) == decoded(folders["dream"])
    assert Tokenizer(found.folder).decode(Tokenizer(found.folder).encode_prompt("Mia has 12 shells."))


def test_only_what_is_read_is_fetched_and_the_weights_last(hub, folders):
    found = find("org/dream")
    wanted = [name for name in names(folders["dream"]) if name not in repositories.DECOYS and name not in ("onnx", "original")]
    assert names(found.folder) == sorted(asked(hub)) == wanted
    assert asked(hub)[0] == "config.json"
    assert [name for name in asked(hub) if name.endswith(".safetensors")] == asked(hub)[-3:]


def test_one_file_of_weights(hub, folders):
    found = find("org/llada")
    assert "model.safetensors" in asked(hub) and "tokenizer.json" in asked(hub)
    assert decoded(found.folder) == decoded(folders["llada"])


def test_of_both_kinds_of_weights_the_one_file_is_taken(hub, folders, tmp_path):
    folder = shutil.copytree(folders["dream"], tmp_path / "both")
    repositories.copy(folder, "dream-a", "model.safetensors")
    hub.add("org/both", folder)
    found = find("org/both")
    assert [name for name in names(found.folder) if ".safetensors" in name] == ["model.safetensors"]
    assert decoded(found.folder) == decoded(folders["dream"])


def test_an_adapter_of_the_hub_merges_as_its_folder_does(hub, folders):
    found = find_adapter("org/adapter")
    assert names(found.folder) == ["adapter_config.json", "adapter_model.safetensors"]
    ours, theirs = (load(folders["dream"], adapter=folder) for folder in (found.folder, folders["adapter"]))
    assert all(torch.equal(one, other) for one, other in zip(ours.parameters(), theirs.parameters(), strict=True))


def test_an_unsupported_model_is_refused_before_its_weights_are_loaded(hub, folders, tmp_path):
    folder = shutil.copytree(folders["llada"], tmp_path / "other")
    (folder / "config.json").write_text('{"model_type": "gpt2"}', encoding="utf-8")
    hub.add("org/other", folder)
    with pytest.raises(ModelError, match="model_type 'gpt2' is not supported"):
        find("org/other")
    assert "model.safetensors" not in asked(hub)


def test_revisions(hub, folders):
    first = hub.repositories["org/dream"].refs["main"]
    second = hub.add("org/dream", folders["llada"], revision="refs/pr/1")
    assert find("org/dream@refs/pr/1").commit == find("org/dream", revision="refs/pr/1").commit == second != first
    assert find("org/dream").commit == find(f"org/dream@{first}", revision=first).commit == first
    with pytest.raises(ModelError, match="names the revision 'v1', and 'v2' is asked for too"):
        find("org/dream@v1", revision="v2")


def test_a_branch_that_moves_is_followed(hub, folders, tmp_path):
    first = find("org/dream")
    folder = shutil.copytree(folders["dream"], tmp_path / "newer")
    (folder / "generation_config.json").write_text("{}", encoding="utf-8")
    second = hub.add("org/dream", folder)
    hub.requests.clear()
    assert find("org/dream").commit == second != first.commit
    assert [name for name in asked(hub) if name.endswith(".safetensors")] == []  # the same content is in the cache already


def test_progress_rises_to_all_bytes_in_few_calls(hub, folders):
    told = []
    find("org/dream", progress=lambda *one: told.append(one))
    sizes = {name: (folders["dream"] / name).stat().st_size for name in asked(hub)}
    before = ("config.json", "model.safetensors.index.json")  # needed to know how much there is to load
    everything = sum(size for name, size in sizes.items() if name not in before)
    assert {whole for _, whole, _ in told} == {everything}
    assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})
    assert told[-1][0] == everything and told[-1][2] == "model-00003-of-00003.safetensors"
    assert len(told) < 12
    find("org/dream", progress=lambda *_: pytest.fail("nothing is loaded"))


def test_progress_rises_where_a_file_is_loaded_again(hub):
    told = []
    hub.fail("*.safetensors", cut=5000, methods=("GET",), times=2)
    hub.fail("*.safetensors", cut=90_000, reset=True, methods=("GET",), times=1)
    find("org/llada", progress=lambda *one: told.append(one))
    assert [done for done, _, _ in told] == sorted({done for done, _, _ in told}) and told[-1][0] == told[-1][1]


def test_a_commit_that_is_here_is_used_without_a_request(hub, monkeypatch):
    found = find("org/dream")
    hub.requests.clear()
    assert find("org/dream", revision=found.commit) == find(f"org/dream@{found.commit}") == found
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert find("org/dream", revision=found.commit) == found
    assert hub.requests == []


def test_a_commit_without_its_tokenizer_is_asked_about(hub):
    found = find("org/dream")
    (found.folder / "vocab.json").unlink()  # as programs leave it that load weights alone
    assert "vocab.json" in names(find("org/dream", revision=found.commit).folder)


@pytest.mark.parametrize("away", ["network", "switched off", "out of order", "busy"])
def test_without_the_hub_a_complete_copy_is_used_and_the_log_says_so(hub, monkeypatch, caplog, away):
    found, adapter = find("org/dream"), find_adapter("org/adapter")
    match away:
        case "network":
            monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
        case "switched off":
            monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        case "out of order":
            hub.fail("*", status=503)
        case "busy":
            hub.fail("*", status=429)
    with caplog.at_level(logging.WARNING, "lopa_core"):
        assert (find("org/dream"), find_adapter("org/adapter")) == (found, adapter)
    assert f"the copy that is here is used, commit {found.commit}" in caplog.text


def test_without_the_network_an_incomplete_copy_is_told(hub, monkeypatch):
    found = find("org/dream")
    (found.folder / "model-00002-of-00003.safetensors").unlink()
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    for revision in (None, found.commit):
        with pytest.raises(ModelError, match="cannot be reached.*; the copy that is here lacks model-00002-of-00003.safetensors"):
            find("org/dream", revision=revision)


def test_another_process_finds_it_by_the_librarys_variables(folders, tmp_path):
    """The whole way, without a patch: a Hub in a process of its own, the environment, a cold and a warm cache."""
    served = [f"org/dream={folders['dream']}", str(folders["adapter"])]
    server = subprocess.Popen([sys.executable, "-m", "tests.helpers.hub", *served], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    environment = os.environ | {"HF_ENDPOINT": server.stdout.readline().strip(), "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_XET": "1"}
    code = (
        "from lopa_core.model.hub import find, find_adapter; from lopa_core.model.hub_progress import console_bar\n"
        "with console_bar() as bar: print(find('org/dream', progress=bar).folder)\n"
        "print(find_adapter('test/adapter').folder)"
    )
    try:
        ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    finally:
        server.kill()
    assert ran.returncode == 0, ran.stderr
    folder, adapter = map(Path, ran.stdout.split())
    assert folder.is_relative_to(tmp_path) and decoded(folder, adapter) == decoded(folders["dream"], folders["adapter"])
    assert "model-00003-of-00003.safetensors: 100%" in ran.stderr
