"""The entry from a shell: flags and their variables, one sentence and exit code 2 for what cannot work, the public link, a clean end."""

import errno
import os
import queue
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
import torch
from gradio import networking
from gradio.exceptions import ChecksumMismatchError, ShareCertificateWriteError
from gradio.tunneling import BINARY_FILENAME
from gradio_client import Client

import app
from lopa_core.page import layout, serving
from lopa_core.page.api import Allowance
from lopa_core.runtime import opening
from tests.helpers.models import MODELS

ROOT = Path(__file__).parents[2]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
VARIABLES = [variable for flag in app.FLAGS for variable in flag.variables] + ["SPACE_ID", "GRADIO_SHARE_SERVER_ADDRESS"]
PAGE = SimpleNamespace(
    server_name="127.0.0.1", server_port=7861, local_url="http://127.0.0.1:7861/", share_token="token", share_server_address=None,
    share_server_protocol="https", share_server_tls_certificate=None,
)  # fmt: skip


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch):
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def shell(*flags, **env):
    return subprocess.run([sys.executable, "app.py", *flags], cwd=ROOT, env=os.environ | env, capture_output=True, text=True, timeout=120)


def one_sentence(told):
    assert told.returncode == 2 and told.stdout == "" and len(told.stderr.strip().splitlines()) == 1, told.stderr
    return told.stderr


@contextmanager
def listening(port=0):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        yield taken.getsockname()[1]


class Running:
    """app.py in a process of its own, and what it prints, line by line."""

    def __init__(self, *flags, **env):
        self.process = subprocess.Popen(
            [sys.executable, "app.py", "--threads", "1", *flags],
            cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"} | env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.lines = queue.Queue()
        threading.Thread(target=lambda: [self.lines.put(line) for line in self.process.stdout], daemon=True).start()

    def line(self):
        return self.lines.get(timeout=120)

    def left_cleanly(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        assert self.process.wait(timeout=60) == 0
        errors = self.process.stderr.read()
        assert "Traceback" not in errors and "Exception" not in errors, errors


@contextmanager
def running(*flags, **env):
    server = Running(*flags, **env)
    try:
        yield server
    finally:
        server.process.kill()


def tunnel_program(folder, script):
    """Gradio's tunnel program replaced by a script that leaves its process id; the environment for it."""
    program = folder / "gradio" / "frpc" / BINARY_FILENAME
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho $$ > {folder}/pid\n{script}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    return {"HF_HOME": str(folder), "GRADIO_SHARE_SERVER_ADDRESS": "127.0.0.1:1"}


def wait_for(what):
    for _ in range(600):
        if what():
            return
        time.sleep(0.05)
    raise AssertionError("not within 30 seconds")


def ended(pid):
    """Whether a process is gone, or waits only for its parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_help_names_every_flag_with_its_variable_and_default():
    told = shell("--help")
    words = " ".join(told.stdout.split())
    assert told.returncode == 0 and len(app.FLAGS) == 17
    for flag in app.FLAGS:
        assert f"--{flag.name.replace('_', '-')} " in words and f"LOPA_{flag.name.upper()}" in words and f"default: {flag.unset}]" in words


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (("--port", "x"), "--port"), (("--port", "70000"), "70000"), (("--port", "0"), "--port"), (("--threads", "0"), "--threads"),
        (("--threads", "9" * 30), "--threads"), (("--max-queue", "-1"), "--max-queue"), (("--dtype", "int8"), "float32"),
        (("--auth", "ann"), "--auth"), (("--auth", ":secret"), "--auth"), (("--what",), "--what"),
    ],
)  # fmt: skip
def test_a_wrong_flag_is_one_sentence(flags, word, capsys):
    with pytest.raises(SystemExit) as left:
        app.parse(flags)
    told = capsys.readouterr()
    assert left.value.code == 2 and told.out == "" and word in told.err and len(told.err.splitlines()) == 1
    assert "secret" not in told.err


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("LOPA_PORT", "x"), ("PORT", "70000"), ("GRADIO_SERVER_PORT", "0"), ("LOPA_THREADS", "0"), ("LOPA_MAX_QUEUE", "1.5"),
        ("LOPA_DTYPE", "int8"), ("LOPA_AUTH", "secret"), ("LOPA_AUTH", "ann:secret\nbob"), ("LOPA_OPEN", "maybe"), ("LOPA_SHARE", "2"),
    ],
)  # fmt: skip
def test_a_wrong_variable_is_one_sentence_that_names_it(variable, value, monkeypatch, capsys):
    monkeypatch.setenv(variable, value)
    with pytest.raises(SystemExit) as left:
        app.parse([])
    told = capsys.readouterr()
    assert left.value.code == 2 and told.out == "" and told.err.startswith(f"{variable}: ") and len(told.err.splitlines()) == 1
    assert "secret" not in told.err


def test_flags_have_environment_variables(monkeypatch):
    for name, value in {
        "LOPA_HOST": "0.0.0.0", "LOPA_PORT": "8123", "LOPA_MODEL": "somewhere", "LOPA_ADAPTER": "lora", "LOPA_DEVICE": "cuda:1",
        "LOPA_DTYPE": "bfloat16", "LOPA_THREADS": "3", "LOPA_OPEN": "yes", "LOPA_SHARE": "On", "LOPA_MAX_QUEUE": "4",
        "LOPA_AUTH": "ann:a:b\n bob : c", "LOPA_RANKS": "2", "LOPA_TENSOR": "2", "LOPA_CONNECT": "there:7900",
        "LOPA_SHIFTED": "no", "LOPA_API_ROWS": "500", "LOPA_API_SECONDS": "9",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert vars(app.parse([])) == {
        "host": "0.0.0.0", "port": 8123, "model": "somewhere", "adapter": "lora", "device": "cuda:1", "dtype": "bfloat16", "threads": 3,
        "open": True, "share": True, "max_queue": 4, "auth": [("ann", "a:b"), ("bob", " c")], "ranks": 2, "tensor": 2,
        "connect": "there:7900", "shifted": False, "api_rows": 500, "api_seconds": 9,
    }  # fmt: skip


def test_without_flags_and_variables_there_are_defaults(monkeypatch):
    monkeypatch.setenv("LOPA_PORT", "")
    monkeypatch.setenv("LOPA_SHARE", "off")
    assert vars(app.parse([])) == {
        "host": "127.0.0.1", "port": None, "model": None, "adapter": None, "device": None, "dtype": None, "threads": None,
        "open": False, "share": False, "max_queue": 16, "auth": None, "ranks": None, "tensor": 1, "connect": None,
        "shifted": None, "api_rows": 20_000, "api_seconds": 300,
    }  # fmt: skip


def test_a_flag_goes_before_our_variable_and_ours_before_a_platforms(monkeypatch):
    monkeypatch.setenv("GRADIO_SERVER_PORT", "8001")
    monkeypatch.setenv("GRADIO_SERVER_NAME", "::1")
    assert (app.parse([]).port, app.parse([]).host) == (8001, "[::1]")
    monkeypatch.setenv("PORT", "8002")
    assert app.parse([]).port == 8002
    monkeypatch.setenv("LOPA_PORT", "8003")
    monkeypatch.setenv("LOPA_HOST", "localhost")
    assert (app.parse([]).port, app.parse([]).host) == (8003, "localhost")
    monkeypatch.setenv("LOPA_PORT", "nonsense that nobody reads")
    args = app.parse(["--port", "8004", "--auth", "ann:x", "--auth", "bob:y"])
    assert args.port == 8004 and args.auth == [("ann", "x"), ("bob", "y")]
    monkeypatch.setenv("LOPA_PORT", "8003")
    monkeypatch.setenv("LOPA_SHIFTED", "yes")
    assert [app.parse(flags).shifted for flags in ([], ["--no-shifted"], ["--shifted"])] == [True, False, True]


def test_the_flags_reach_the_page(monkeypatch):
    seen = {}

    def serve(page, host, ports, *, health, **how):
        seen.update(page=page, host=host, ports=list(ports), **how)
        return True

    class Quick(opening.Opening):
        """Does nothing but say that it came."""

        def run(self):
            self.model = SimpleNamespace(source=self.source, name=self.source.name, close=lambda: None)
            seen.update(place=self.place, source=self.source)
            self.over.set()

        def close(self):
            seen.update(closed=True)

    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(opening, "Opening", Quick)
    monkeypatch.setattr(layout, "build", lambda shelf, **how: (shelf.first, list(shelf.sources), how))
    monkeypatch.setattr(serving, "serve", serve)
    monkeypatch.setenv("LOPA_SECRET", "correct horse battery")
    port = free_port()
    flags = ["--port", str(port), "--model", str(MODELS / "dream-a"), "--adapter", "some/lora", "--device", "d", "--dtype", "bfloat16"]
    flags += ["--no-shifted"]
    flags += ["--api-rows", "700", "--api-seconds", "8"]
    assert (
        app.main([*flags, "--max-queue", "5", "--open", "--ranks", "2", "--tensor", "2", "--threads", "3", "--connect", "there:7900"]) == 0
    )
    assert (seen["source"].where, seen["source"].adapter, seen["source"].shifted) == (MODELS / "dream-a", "some/lora", False)
    assert seen["place"] == opening.Place(
        ranks=2, tensor=2, device="d", dtype=torch.bfloat16, threads=3, connect="there:7900", secret="correct horse battery"
    )  # fmt: skip
    assert seen["page"][:2] == ("dream-a", ["dream-a", "lopa-tiny"]) and seen["closed"]
    assert seen["page"][2] == {"max_queue": 5, "allowance": Allowance(rows=700, seconds=8)}
    assert (seen["host"], seen["ports"], seen["auth"], seen["browser"], seen["share"]) == ("127.0.0.1", [port], None, True, False)


def test_a_folder_without_a_model_is_one_sentence(tmp_path):
    assert "config.json" in one_sentence(shell("--model", str(tmp_path)))


def test_a_taken_port_is_one_sentence():
    with listening() as port:
        assert f"Port {port} on 127.0.0.1" in one_sentence(shell(LOPA_PORT=str(port)))


@pytest.mark.parametrize("host", ["192.0.2.77", "no such name", "a" * 80])
def test_an_address_of_another_machine_is_one_sentence(host):
    assert f"Every port from 7860 to 7959 on {host} cannot be used" in one_sentence(shell("--host", host))


@pytest.mark.parametrize("how", ["probe", "launch"])
def test_a_port_that_was_taken_leads_to_the_next(how, monkeypatch):
    """Whether it is taken before, or in the moment between our probe and Gradio's."""
    tried = []

    def launch(**how):
        tried.append(how["server_port"])
        if how["server_port"] == 1:
            raise OSError("Cannot find empty port in range: 1-1.")

    monkeypatch.setattr(serving, "free", lambda host, port: how == "launch" or port != 1)
    assert serving.launch(SimpleNamespace(launch=launch), "127.0.0.1", [1, 2, 3], None, False)
    assert tried == ([2] if how == "probe" else [1, 2])
    assert not serving.launch(SimpleNamespace(launch=launch), "127.0.0.1", [1], None, False)


def test_another_fault_of_the_system_is_not_called_a_taken_port(monkeypatch):
    def launch(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(serving, "free", lambda host, port: True)
    with pytest.raises(OSError, match="No space"):
        serving.launch(SimpleNamespace(launch=launch), "127.0.0.1", [1, 2], None, False)


@LINUX
def test_a_page_with_a_password_and_a_public_link(tmp_path):
    """One server for it all: 7860 is taken, Gradio's variable for it is nonsense, a password is asked, the tunnel comes up."""
    tunnel = tunnel_program(tmp_path, "echo 'start proxy success: http://abc.example'; exec sleep 600")
    env = tunnel | {"LOPA_AUTH": "ann:secret", "GRADIO_SERVER_NAME": "nonsense"}
    with occupied(app.PORTS[0]), running("--share", "--host", "127.0.0.1", "--max-queue", "2", **env) as server:
        first = server.line()
        assert first.endswith("(port 7860 is taken)\n"), first
        url = first.split()[6]
        assert app.PORTS[0] < httpx.URL(url).port <= app.PORTS[-1]
        assert server.line() == "Public link: https://abc.example\n"  # and no advice about --auth
        assert httpx.get(f"{url}config").status_code == 401 and '"auth_required":true' in httpx.get(url).text
        with pytest.raises(ValueError, match="Could not login"):
            Client(url, auth=("ann", "wrong"), verbose=False)
        assert Client(url, auth=("ann", "secret"), verbose=False).submit("2 + 2", api_name="/compare").result(timeout=100)
        with httpx.Client(base_url=url) as visitor:
            assert visitor.post("/login", data={"username": "ann", "password": "secret"}).status_code == 200
            page = visitor.get("/")
            assert "LoPA" in page.text and "amazonaws" not in page.text  # nothing comes from a CDN, public link or not
            sizes = {size: visitor.post("/gradio_api/upload", files={"files": b"x" * size}).status_code for size in (2**20, 17_000_000)}
            assert sizes == {2**20: 200, 17_000_000: 413}
            breaks_off(httpx.URL(url), visitor.cookies)
        long = {"max_new_tokens": 320}
        next(Client(url, auth=("ann", "secret"), verbose=False).submit("2 + 2", settings=long, api_name="/compare"))
        # the end comes in the middle of it
        server.left_cleanly()
    wait_for(lambda: ended(int((tmp_path / "pid").read_text())))


def breaks_off(url, cookies):
    """An upload whose visitor is gone before half of it."""
    head = {
        "Host": url.host, "Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items()),
        "Content-Type": "multipart/form-data; boundary=X", "Content-Length": "100000",
    }  # fmt: skip
    lines = ["POST /gradio_api/upload HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
    part = '--X\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n'
    with socket.create_connection((url.host, url.port)) as line:
        line.sendall("\r\n".join(lines).encode() + part.encode() + b"x" * 10_000)
        time.sleep(0.2)  # it is being read


@contextmanager
def occupied(port):
    """The port, taken by us if by nobody else."""
    try:
        with listening(port):
            yield
    except OSError as error:
        assert error.errno == errno.EADDRINUSE
        yield


@LINUX
def test_the_end_comes_at_once_while_the_tunnel_program_is_silent(tmp_path):
    env = tunnel_program(tmp_path, "exec sleep 600")
    with running("--share", "--port", str(free_port()), **env) as server:
        ends_at_once(server, signal.SIGTERM, once=(tmp_path / "pid").exists)
    wait_for(lambda: ended(int((tmp_path / "pid").read_text())))


def test_the_end_comes_at_once_while_the_share_service_is_silent():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent.settimeout(60)
        calls = []
        env = {"HTTPS_PROXY": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        with running("--share", "--port", str(free_port()), **env) as server:
            ends_at_once(server, signal.SIGINT, once=lambda: calls.append(silent.accept()) or calls)


def ends_at_once(server, number, once):
    """The page runs before the tunnel does, and leaves without waiting for it."""
    assert "runs on http://127.0.0.1:" in server.line()
    assert "--auth" in server.line()
    wait_for(once)
    began = time.monotonic()
    server.left_cleanly(number)
    assert time.monotonic() - began < 40 and server.lines.empty()  # the tunnel would have had a minute


@LINUX
def test_the_end_comes_before_the_page_runs():
    with running("--port", str(free_port())) as server:
        wait_for(lambda: handles_sigterm(server.process.pid))
        server.left_cleanly()
        assert server.lines.empty()


def free_port():
    with listening() as port:
        return port


def handles_sigterm(pid):
    """Whether the process has a handler of its own for SIGTERM."""
    caught = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1


def test_a_public_link_is_told_as_https(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(networking, "setup_tunnel", lambda **how: asked.append(how) or "http://abc.gradio.live")
    serving.PublicLink(PAGE).attempt()
    assert capsys.readouterr().out == "Public link: https://abc.gradio.live\n"
    assert (asked[0]["local_host"], asked[0]["local_port"], asked[0]["share_token"]) == ("127.0.0.1", 7861, "token")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ChecksumMismatchError(), "damaged; delete /"), (ShareCertificateWriteError("read-only"), "certificate"),
        (httpx.ConnectTimeout("slow"), "cannot be downloaded"), (ValueError("no\nlog"), "refused the connection (ValueError: no)"),
        (PermissionError(13, "denied"), "does not run on this machine"), (KeyError("host"), "failed (KeyError: 'host')"),
    ],
)  # fmt: skip
def test_no_public_link_is_told_with_other_ways(error, words, monkeypatch, capsys):
    def fails(**_):
        raise error

    monkeypatch.setattr(networking, "setup_tunnel", fails)
    serving.PublicLink(PAGE).attempt()
    told = capsys.readouterr().out
    assert told.startswith("No public link: ") and words in told.splitlines()[0]
    for way in ("--host 0.0.0.0, then http://", ":7861\n", "ssh -R 80:127.0.0.1:7861", "ssh -L 7861:127.0.0.1:7861", "Space", "HTML file"):
        assert way in told


def test_without_a_network_the_real_tunnel_is_told_in_plain_words(monkeypatch, capsys):
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{free_port()}")  # nobody listens there
    monkeypatch.setattr(networking, "GRADIO_SHARE_SERVER_ADDRESS", None)
    serving.PublicLink(PAGE).attempt()
    assert "share service cannot be reached from here (ConnectError" in capsys.readouterr().out


def test_a_page_in_the_network_is_told_by_its_address():
    there = SimpleNamespace(server_name="192.168.0.9", server_port=80, local_url="http://192.168.0.9:80/")
    assert "network: http://192.168.0.9:80\n" in serving.other_ways(there) and "ssh -R 80:192.168.0.9:80" in serving.other_ways(there)
    everywhere = SimpleNamespace(server_name="0.0.0.0", server_port=80, local_url="http://localhost:80/")
    assert "--host" not in serving.other_ways(everywhere) and f"http://{serving.own_address()}:80\n" in serving.other_ways(everywhere)


@pytest.mark.parametrize("end", ["time limit", "closed"])
def test_a_tunnel_that_comes_too_late_is_taken_down_again(end, monkeypatch, capsys):
    answer, dropped = threading.Event(), []

    def setup(**_):
        assert answer.wait(30)
        return "http://late.gradio.live"

    monkeypatch.setattr(networking, "setup_tunnel", setup)
    monkeypatch.setattr(serving, "drop_tunnels", lambda: dropped.append(True))
    link = serving.PublicLink(PAGE, patience=0.1 if end == "time limit" else 60)
    link.start()  # comes back at once, whatever the tunnel does
    if end == "closed":
        link.close()
    wait_for(lambda: len(dropped) == 1)
    answer.set()
    wait_for(lambda: len(dropped) == 2)
    told = capsys.readouterr().out
    assert "late" not in told and ("within 0.1 seconds" in told) == (end == "time limit") and bool(told) == (end == "time limit")


def test_on_a_space_no_tunnel_is_tried(monkeypatch, capsys):
    monkeypatch.setenv("SPACE_ID", "ann/lopa")
    monkeypatch.setattr(serving, "PublicLink", None)
    assert serving.public_link(PAGE, protected=False) is None
    assert "not needed" in (told := capsys.readouterr().out) and "https://huggingface.co/spaces/ann/lopa" in told
