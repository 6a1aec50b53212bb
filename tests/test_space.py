"""The project as others run it: as a Space (the front matter of README), and in a container, whose steps run here without Docker."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from huggingface_hub import SpaceHardware, metadata_load
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from lopa_core.model.catalogue import CATALOGUE

from .helpers import docker

ROOT = Path(__file__).parents[1]
# the keys of the Hub's configuration reference, as of August 2026
KEYS = {
    "title", "emoji", "colorFrom", "colorTo", "sdk", "python_version", "sdk_version", "suggested_hardware", "suggested_storage",
    "app_file", "app_build_command", "app_port", "base_path", "fullWidth", "header", "short_description", "models", "datasets", "tags",
    "thumbnail", "pinned", "hf_oauth", "hf_oauth_scopes", "hf_oauth_expiration_minutes", "hf_oauth_authorized_org", "license",
    "disable_embedding", "startup_duration_timeout", "custom_headers", "preload_from_hub",
}  # fmt: skip
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
ON_ZEROGPU = {"python": {"3.12.12", "3.10.13"}, "torch": {"2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0"}}
LARGEST = 10_000_000  # bytes of a file that the Hub takes without large file storage


@pytest.fixture(scope="module")
def front():
    return metadata_load(ROOT / "README.md")


@pytest.fixture(scope="module")
def steps():
    return docker.steps(ROOT / "Dockerfile")


def pinned(name):
    """The version of a package in constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return next(line.partition("==")[2] for line in lines if line.startswith(f"{name}=="))


def required():
    """{package: range of versions} of requirements.txt."""
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    wanted = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {each.name: each.specifier for each in wanted}


def listed(*arguments):
    """What git lists here."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs the repository")
    told = subprocess.run(["git", "ls-files", "-z", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [Path(name) for name in told.split("\0") if name]


def test_the_front_matter_has_known_keys_and_values(front):
    assert front.keys() <= KEYS
    assert front["title"] and front["emoji"] and {front["colorFrom"], front["colorTo"]} <= COLOURS
    assert front["sdk"] == "gradio" and (ROOT / front["app_file"]).is_file()
    assert len(front["short_description"]) <= 60
    assert front["suggested_hardware"] in {each.value for each in SpaceHardware}
    assert re.fullmatch(r"\d+[mh]", front["startup_duration_timeout"])
    assert isinstance(front["pinned"], bool) and isinstance(front["fullWidth"], bool)
    assert all(isinstance(tag, str) for tag in front["tags"])


def test_the_space_runs_the_versions_that_were_tested(front):
    assert front["sdk_version"] == pinned("gradio") and front["sdk_version"] in required()["gradio"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert front["python_version"] in SpecifierSet(project["requires-python"])
    assert front["python_version"] in ON_ZEROGPU["python"]
    assert pinned("torch") in ON_ZEROGPU["torch"] and any(version in required()["torch"] for version in ON_ZEROGPU["torch"])
    assert all(pinned(name) in versions for name, versions in required().items())


def test_the_models_named_are_those_of_the_catalogue(front):
    sure = [preset for preset in CATALOGUE.values() if not any("name on the Hub" in doubt for doubt in preset.unverified)]
    assert set(front["models"]) <= {name for preset in sure for name in (preset.hub, preset.adapter) if name}
    assert len(front["models"]) == len(set(front["models"]))


def test_the_licence_is_the_one_of_the_project(front):
    text = (ROOT / "LICENSE").read_text()
    assert front["license"] == "apache-2.0" and "Apache License" in text and "Version 2.0" in text


def test_nothing_is_loaded_while_the_space_is_built(front):
    """The embedded model needs nothing, and which large one is wanted is a variable of each Space."""
    assert "preload_from_hub" not in front


def test_every_file_is_small_enough_for_the_hub():
    large = {str(path): (ROOT / path).stat().st_size for path in listed() if (ROOT / path).is_file()}
    assert {name: size for name, size in large.items() if size >= LARGEST} == {}


def test_the_container_has_no_root_and_the_port_that_spaces_expect(steps, front):
    names = [name for name, _ in steps]
    created = next(index for index, (_, argument) in enumerate(steps) if "useradd" in argument)
    assert "--uid 1000 user" in steps[created][1] and steps[created + 1] == ("USER", "user") and names.count("USER") == 1
    assert steps[0] == ("FROM", f"python:{front['python_version'].rpartition('.')[0]}-slim")
    assert all("--chown=user" in argument for name, argument in steps if name == "COPY") and "ADD" not in names
    settings = docker.environment(steps, {"PATH": "/usr/bin"})
    assert settings["PORT"] == dict(steps)["EXPOSE"] == "7860" and settings["LOPA_HOST"] == "0.0.0.0"
    assert settings["GRADIO_ANALYTICS_ENABLED"] == "False" and settings["HOME"] == "/home/user"
    assert "HF_HOME" not in settings  # a Space preloads models to the usual place, whatever this says


def test_a_change_of_code_does_not_install_everything_anew(steps):
    arguments = [argument for _, argument in steps]
    installs = next(index for index, argument in enumerate(arguments) if "pip install" in argument)
    assert arguments.index("--chown=user requirements.txt constraints.txt ./") < installs < arguments.index("--chown=user . .")


def test_the_image_holds_what_the_page_needs_and_nothing_that_git_ignores():
    files = set(docker.context(ROOT))
    kept = ("app.py", "requirements.txt", "constraints.txt", "lopa_core", "assets/lopa-tiny", "assets/viewer", "assets/replays")
    assert {path for path in listed() if str(path).startswith(kept) and (ROOT / path).is_file()} <= files
    assert not {path.parts[0] for path in files} & {".git", ".venv", "tests", ".ci", ".gradio"}
    assert files <= set(listed("--cached", "--others", "--exclude-standard"))


def test_patterns_of_the_image_mean_what_docker_means():
    taken = {name: docker.pattern(name) for name in ("**/*.pyc", "build", "assets/screens", "*.md")}
    assert taken["**/*.pyc"].fullmatch("a.pyc") and taken["**/*.pyc"].fullmatch("a/b/c.pyc")
    assert taken["build"].fullmatch("build") and not taken["build"].fullmatch("a/build")
    assert taken["*.md"].fullmatch("README.md") and not taken["*.md"].fullmatch("docs/README.md")
    for unknown in ("!app.py", "a/**", "/app.py", "tests/", "[ab].py"):
        with pytest.raises(ValueError, match="kind"):
            docker.pattern(unknown)


def installing(steps, pip, index):
    """The step that installs, run by a shell with `pip` for pip and TORCH_INDEX as `docker build` would give it."""
    step = next(argument for name, argument in steps if name == "RUN" and "pip install" in argument)
    assert step.startswith("pip install ")
    command, env = step.replace("pip", pip, 1), os.environ | {"TORCH_INDEX": index}
    return subprocess.run(["/bin/sh", "-c", command], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)


def test_what_the_image_installs_can_be_installed(steps):
    """In the environment of these tests and without the network: everything is here already."""
    pytest.importorskip("pip")
    told = installing(steps, f"PIP_DRY_RUN=1 PIP_NO_INDEX=1 {sys.executable} -m pip", "")
    assert told.returncode == 0 and "Would install" not in told.stdout, told.stdout + told.stderr


def test_the_image_takes_torch_from_the_index_it_is_given_and_from_pip_s_own_where_that_is_empty(steps):
    own = "install --no-cache-dir -r requirements.txt -c constraints.txt"
    assert " ".join(installing(steps, "echo", "").stdout.split()) == own
    assert "--extra-index-url https://example.org/whl -r" in installing(steps, "echo", "https://example.org/whl").stdout
    assert docker.environment(steps, {})["TORCH_INDEX"].endswith("/whl/cpu")


def test_no_index_is_named_that_pip_asks_anyway():
    assert not [name for name in ("README.md", "Dockerfile", "Makefile") if re.search(r"pypi\.org/simple", (ROOT / name).read_text())]


@pytest.fixture
def container(steps, tmp_path):
    """The image's folders and environment under tmp_path instead of /home/user, with a free port as `docker run --env PORT` gives it."""
    home = tmp_path / "home"
    home.mkdir()
    here = [(name, argument.replace("/home/user", str(home))) for name, argument in steps]
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    path = os.pathsep.join((str(Path(sys.executable).parent), "/usr/bin", "/bin"))
    env = docker.environment(here, {"PATH": path}) | {"PORT": str(port), "OMP_NUM_THREADS": "1"}
    for argument in [argument for name, argument in here if name == "RUN" and argument.startswith("mkdir")]:
        subprocess.run(["/bin/sh", "-c", argument], env=env, check=True)
    app = Path(dict(here)["WORKDIR"])
    for path in docker.context(ROOT):
        (app / path.parent).mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, app / path)
    return app, env


def test_the_container_starts_tells_its_health_and_ends_when_told(steps, container):
    app, env = container
    said = dict(steps)
    check = docker.options(said["HEALTHCHECK"])[1].removeprefix("CMD ")

    def healthy():
        return subprocess.run(["/bin/sh", "-c", check], cwd=app, env=env, capture_output=True, timeout=30).returncode == 0

    before = {path for path in app.rglob("*") if "__pycache__" not in path.parts}
    assert not healthy()
    server = subprocess.Popen(json.loads(said["CMD"]), cwd=app, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert f":{env['PORT']}" in server.stdout.readline(), server.stderr.read()
        until = time.monotonic() + 60
        while not healthy():
            assert server.poll() is None and time.monotonic() < until
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=30) == 0
        told = server.stderr.read()
    finally:
        server.kill()
        server.communicate()
    assert "Traceback" not in told, told
    assert not healthy()
    with pytest.raises(OSError), socket.create_connection(("127.0.0.1", int(env["PORT"])), timeout=5):
        pass
    assert {path for path in app.rglob("*") if "__pycache__" not in path.parts} == before  # it writes nothing beside itself
