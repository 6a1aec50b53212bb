"""Each way in which the Hub gives nothing is one sentence that says what would do."""

from __future__ import annotations

import errno
import shutil

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import close_session

from lopa_core.model import hub_fetch
from lopa_core.model.errors import ModelError
from lopa_core.model.hub import find, find_adapter

FILE = "/org/dream/resolve/*"
API = "/api/models/org/dream*"


def told(name: str = "org/dream", how=find, **given) -> str:
    """The sentence, and that it is one."""
    with pytest.raises(ModelError) as error:
        how(name, **given)
    sentence = str(error.value)
    assert sentence.count("\n") == 0 and sentence.endswith((".", "?")) and ". " not in sentence
    assert error.value.__cause__ is None and (error.value.__suppress_context__ or error.value.__context__ is None)
    return sentence


def test_a_repository_that_is_not_there(hub, monkeypatch):
    assert "no repository org/nothing on the Hub, or it is private and HF_TOKEN is not set" in told("org/nothing")
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    assert "no repository org/nothing on the Hub, or the token in use may not read it" in told("org/nothing")


def test_a_private_repository_needs_its_token(hub, folders, monkeypatch):
    hub.add("org/private", folders["llada"], token="hf_mine")
    assert "HF_TOKEN is not set" in told("org/private")
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    assert find("org/private").id == "org/private"


def test_a_gated_repository_needs_its_licence_accepted(hub, folders, monkeypatch):
    hub.add("org/gated", folders["llada"], token="hf_mine", gated=True)
    where = f"org/gated is gated: accept its licence at {hub.url}/org/gated"
    assert told("org/gated") == f"{where}, then set HF_TOKEN to a token of your account."
    monkeypatch.setenv("HF_TOKEN", "hf_other")
    assert told("org/gated") == f"{where} with the account of the token in use."
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    assert find("org/gated").id == "org/gated"


@pytest.mark.parametrize("revision", ["v9", "0" * 40])
def test_a_revision_that_is_not_there(hub, revision):
    assert f"org/dream has no revision '{revision}': take a branch" in told(revision=revision)
    find("org/dream")
    assert f"no revision '{revision}'" in told(revision=revision)  # another one's copy does not help


def test_a_branch_that_was_removed_is_not_taken_from_the_cache(hub, folders):
    hub.add("org/dream", folders["llada"], revision="trial")
    find("org/dream@trial")
    del hub.repositories["org/dream"].refs["trial"]
    assert "org/dream has no revision 'trial'" in told("org/dream@trial")


ANSWERS = {
    "busy": ({"status": 429, "headers": {"Retry-After": "120"}}, "try org/dream again in 120 seconds, or set HF_TOKEN"),
    "its quota": ({"status": 429, "headers": {"RateLimit": '"api";r=0;t=55'}}, "again in 55 seconds"),
    "busy, no time": ({"status": 429}, "again in some minutes"),
    "broken": ({"status": 500}, "out of order (HTTP 500): try org/dream again"),
    "overloaded": ({"status": 503}, "out of order (HTTP 503)"),
    "bad token": ({"status": 401, "message": "Invalid credentials in Authorization header"}, "does not accept the token in use"),
    "narrow token": ({"status": 403, "message": "No"}, "may not read org/dream: give it that right"),
    "odd": ({"status": 418}, "The Hub refuses org/dream (HTTP 418)"),
    "disabled": ({"status": 403, "message": "Access to this resource is disabled."}, "org/dream was disabled"),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_refusals_of_the_listing(hub, answer):
    how, words = ANSWERS[answer]
    hub.fail(API, **how)
    assert words in told()


@pytest.mark.parametrize("answer", ANSWERS)
def test_refusals_of_a_file(hub, answer):
    how, words = ANSWERS[answer]
    hub.fail("*model-00002*", **how)
    assert words in told()


def test_a_file_that_is_listed_and_gone(hub):
    hub.fail("*/vocab.json", status=404, code="EntryNotFound")
    assert "A file of org/dream that its listing names is gone" in told()


def test_a_page_of_somebody_else(hub):
    hub.fail("*", page=True)
    assert f"What answers at {hub.url} is not a Hub" in told()


def test_a_page_of_somebody_else_for_a_file(hub):
    hub.fail(FILE, page=True)
    assert f"What answers at {hub.url} is not a Hub" in told()


def test_no_network(hub, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert "cannot be loaded because http://127.0.0.1:9 cannot be reached" in told()


def test_a_hub_that_does_not_answer_in_time(hub, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.1)
    hub.fail(API, seconds=0.5)
    assert "cannot be reached (timed out)" in told()


def test_switched_off(hub, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "and HF_HUB_OFFLINE forbids to load it" in told()


def test_a_connection_that_never_holds(hub):
    hub.fail("*model-00002*", cut=0, methods=("GET",))
    assert "cannot be reached" in told()


def test_pickled_weights_are_not_fetched(hub, folders, tmp_path):
    for name, kept in (("org/dream", "config.json"), ("org/adapter", "adapter_config.json")):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        shutil.copyfile(folders[name.partition("/")[2]] / kept, folder / kept)
        (folder / "pytorch_model.bin").write_bytes(b"not to be loaded")
        hub.add(name, folder)
        how = find if name == "org/dream" else find_adapter
        assert "its weights are pickles (pytorch_model.bin), which can run code and are not read; take" in told(name, how)
        (folder / "pytorch_model.bin").unlink()
        hub.add(name, folder)
        assert "take a repository with weights as safetensors" in told(name, how)
    assert not [path for _, path in hub.requests if path.endswith(".bin")]


def test_a_model_is_no_adapter_and_the_other_way_round(hub, tmp_path):
    assert "org/adapter is a LoRA adapter, no model: give the model it belongs to, and org/adapter as --adapter" in told("org/adapter")
    assert "org/dream is a whole model, no LoRA adapter: give it as --model" in told(how=find_adapter)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "model.gguf").write_bytes(b"")
    hub.add("org/empty", tmp_path / "empty")
    assert "holds no config.json: take a repository in the layout of transformers" in told("org/empty")
    assert "holds no adapter_config.json: take a repository in the layout of peft" in told("org/empty", find_adapter)


@pytest.mark.parametrize("index", ['{"weight_map": ["a"]}', '{"weight_map": {"a": 1}}', "[]", "{", "{}"])
def test_a_damaged_index(hub, folders, tmp_path, index):
    folder = shutil.copytree(folders["dream"], tmp_path / "damaged")
    (folder / "model.safetensors.index.json").write_text(index, encoding="utf-8")
    hub.add("org/dream", folder)
    assert "model.safetensors.index.json" in told()


def test_a_repository_without_one_of_its_shards(hub, folders, tmp_path):
    folder = shutil.copytree(folders["dream"], tmp_path / "incomplete")
    (folder / "model-00002-of-00003.safetensors").unlink()
    hub.add("org/dream", folder)
    assert "names model-00002-of-00003.safetensors, which it does not hold" in told()
    assert not [path for _, path in hub.requests if path.endswith(".safetensors")]


def test_a_disk_without_room_is_told_before_the_weights_are_loaded(hub, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 400_000))
    sentence = told()
    assert "org/dream needs 562 kB more in" in sentence and "whose disk has 400 kB free" in sentence and "HF_HOME" in sentence
    assert not [path for _, path in hub.requests if path.endswith(".safetensors")]


def test_what_is_here_needs_no_room_again(hub, folders, tmp_path, monkeypatch):
    found = find("org/dream")
    (found.folder / "model-00002-of-00003.safetensors").unlink()
    folder = shutil.copytree(folders["dream"], tmp_path / "newer")
    (folder / "generation_config.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr("shutil.disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 200_000))
    find("org/dream")  # one file is linked anew
    hub.add("org/dream", folder)
    find("org/dream")  # another revision with the same weights


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "The disk is full while org/dream is loaded into"),
        (OSError(errno.EROFS, "Read-only file system"), "(Read-only file system): set HF_HOME to a folder that can be written"),
        # what Xet raised, after a minute and a half, for a server that it could not reach
        (RuntimeError("CAS Client Error: error sending request. Twice"), "sending request): try again, or with HF_HUB_DISABLE_XET=1"),
        (ValueError("The file is too large.\n Install `hf_xet`"), "org/dream could not be loaded (The file is too large): try again"),
    ],
)
def test_what_can_happen_while_a_file_is_written(hub, monkeypatch, error, words):
    load = hub_fetch.hf_hub_download

    def failing(repository: str, name: str, **how):
        if name.endswith(".safetensors"):
            raise error
        return load(repository, name, **how)

    monkeypatch.setattr(hub_fetch, "hf_hub_download", failing)
    assert words in told()


def test_a_cache_that_cannot_be_written(hub, monkeypatch, tmp_path):
    (tmp_path / "taken").write_text("a file where a folder should be")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "taken" / "cache"))
    sentence = told()
    assert f"org/dream cannot be kept in {tmp_path / 'taken' / 'cache'} (Not a directory): set HF_HOME to a folder" in sentence


@pytest.mark.parametrize(
    ("proxy", "words"), [("socks5://127.0.0.1:9", "socksio"), ("socks://127.0.0.1:9", "Unknown scheme"), (":port:", "Invalid port")]
)
def test_a_proxy_that_cannot_be_used(hub, monkeypatch, proxy, words):
    find("org/dream")
    for name in ("all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy)
    close_session()  # the library makes its client once
    try:
        assert words in (sentence := told("org/other")) and "the environment's proxy cannot be used" in sentence
        assert find("org/dream").id == "org/dream"  # the copy that is here
    finally:
        close_session()
