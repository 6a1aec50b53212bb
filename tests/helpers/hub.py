"""A small Hub on this machine that speaks what huggingface_hub asks for, and fails on demand.

In a test: `with FakeHub() as hub: hub.add("org/name", folder)`. For a program in another process, which finds it by HF_ENDPOINT:
python -m tests.helpers.hub --port N org/name=FOLDER ... (a FOLDER alone is served as test/<its name>).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import socket
import struct
import threading
from dataclasses import dataclass, field
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

LFS = (".safetensors", ".bin", ".pt")  # what the Hub keeps outside git, named by its SHA-256


@dataclass
class Fault:
    """What goes wrong with a request. times: how often before it works again; None is always. methods: which requests.

    status, code (X-Error-Code), message (X-Error-Message), headers: the answer, if it is a refusal. page: a web page instead of
    an answer. cut: the connection ends after so many bytes of the body; reset: and not in the orderly way. drop: so many bytes
    are missing at the end of a file that claims to be whole. spoil: its last byte is another. seconds: the answer is so late;
    until: or comes as soon as this is set.
    """

    status: int | None = None
    code: str | None = None
    message: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    times: int | None = None
    methods: tuple[str, ...] = ("GET", "HEAD")
    page: bool = False
    cut: int | None = None
    reset: bool = False
    drop: int = 0
    spoil: bool = False
    seconds: float = 0.0
    until: threading.Event = field(default_factory=threading.Event)


@dataclass
class Repository:
    """token: without it, the files of a gated repository are refused, and a private one is not seen at all."""

    commits: dict[str, Path] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    token: str | None = None
    gated: bool = False


class FakeHub(ThreadingHTTPServer):
    """requests: (method, path) of all that was asked about repositories, in order.

    xet: large files are said to be on Xet as well, whose server is not there: whoever tries that way fails.
    """

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Answer)
        self.repositories: dict[str, Repository] = {}
        self.faults: list[tuple[str, Fault]] = []
        self.requests: list[tuple[str, str]] = []
        self.ranges: list[str] = []  # Range headers seen
        self.xet = False
        self.url = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> FakeHub:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def add(self, name: str, folder: Path, *, revision: str = "main", token: str | None = None, gated: bool = False) -> str:
        """Serve a folder as it is now; what `revision` pointed to before stays there under its commit. Returns the commit."""
        repository = self.repositories.setdefault(name, Repository())
        repository.token, repository.gated = token, gated
        told = "".join(f"{entry['rfilename']} {entry['blobId']}\n" for entry in files(folder))
        commit = hashlib.sha1(f"{name}\n{told}".encode()).hexdigest()
        repository.commits[commit], repository.refs[revision] = folder, commit
        return commit

    def fail(self, pattern: str, **how: Any) -> None:
        """Let requests fail whose path matches (as of fnmatch: *.safetensors, /api/models/*); `how` as in Fault."""
        self.faults.append((pattern, Fault(**how)))

    def fault(self, method: str, path: str) -> Fault | None:
        """The fault that is due for a request, counted down."""
        for pattern, fault in self.faults:
            if fnmatch(path, pattern) and method in fault.methods and fault.times != 0:
                fault.times = fault.times and fault.times - 1
                return fault
        return None

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has left, or was cut off, is what the tests are about."""


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeHub

    def do_GET(self) -> None:
        self.answer([unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")])  # a revision may have slashes

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Tests read `requests`."""

    def answer(self, parts: list[str]) -> None:
        path = "/" + "/".join(parts)
        name = "/".join(parts[2:4] if parts[0] == "api" else parts[:2])
        if len(parts) >= 4 and parts[:2] != ["api", "agent-harnesses"]:
            self.server.requests.append((self.command, path))
        fault = self.server.fault(self.command, path) or Fault()
        fault.until.wait(fault.seconds)  # not sleep, which tests of the library's patience replace
        if fault.page:
            return self.send(b"<html>Log in to this network</html>", {"Content-Type": "text/html"})
        if fault.status:
            return self.refuse(fault.status, fault.code, fault.message, fault.headers)
        repository = self.server.repositories.get(name)
        allowed = repository and repository.token in (None, self.headers.get("Authorization", "").removeprefix("Bearer "))
        if repository is None or not (allowed or repository.gated):
            return self.refuse(404 if "Authorization" in self.headers else 401, "RepoNotFound", "Repository not found")
        if parts[0] == "api":
            return self.describe(name, repository, parts[4:])
        if not allowed:
            return self.refuse(403 if "Authorization" in self.headers else 401, "GatedRepo", f"Access to model {name} is restricted.")
        return self.resolve(name, repository, parts[3], "/".join(parts[4:]), fault)

    def describe(self, name: str, repository: Repository, rest: list[str]) -> None:
        """/api/models/NAME, with /revision/REVISION, /tree/REVISION or /xet-read-token/REVISION."""
        revision = rest[1] if len(rest) > 1 else "main"
        if rest[:1] == ["xet-read-token"]:
            expires = {"X-Xet-Access-Token": "token", "X-Xet-Token-Expiration": "9999999999"}
            return self.send(b"", {"X-Xet-Cas-Url": "http://127.0.0.1:9", **expires})
        commit = repository.refs.get(revision, revision)
        if commit not in repository.commits:
            return self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        entries = files(repository.commits[commit])
        if rest[:1] == ["tree"]:
            tree = [{"type": "file", "oid": file["blobId"], "path": file["rfilename"], "size": file["size"]} for file in entries]
            return self.send(json.dumps(tree).encode(), {"Content-Type": "application/json"})
        told = {"_id": "0", "id": name, "modelId": name, "sha": commit, "private": False, "siblings": entries}
        return self.send(json.dumps(told | {"gated": repository.gated and "manual"}).encode(), {"Content-Type": "application/json"})

    def resolve(self, name: str, repository: Repository, revision: str, file: str, fault: Fault) -> None:
        """/NAME/resolve/REVISION/FILE"""
        commit = repository.refs.get(revision, revision)
        if commit not in repository.commits:
            return self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        path = repository.commits[commit] / file
        if not path.is_file():
            return self.refuse(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": commit})
        entry, data = describe_file(path, file), path.read_bytes()
        headers = {"X-Repo-Commit": commit, "ETag": f'"{entry["blobId"]}"', "Accept-Ranges": "bytes"}
        if "lfs" in entry:
            headers |= {"X-Linked-Size": str(len(data)), "X-Linked-ETag": f'"{entry["lfs"]["sha256"]}"'}
            route = f"{self.server.url}/api/models/{name}/xet-read-token/{commit}"
            headers |= {"X-Xet-Hash": entry["lfs"]["sha256"], "X-Xet-Refresh-Route": route} if self.server.xet else {}
        if self.command == "GET":
            data = data[:-1] + bytes([data[-1] ^ 1]) if fault.spoil else data[: len(data) - fault.drop]
        return self.send(data, headers, fault)

    def send(self, data: bytes, headers: dict[str, str], fault: Fault | None = None) -> None:
        """All of `data`, or the part of it that a Range header asks for."""
        start = 0
        if asked := self.headers.get("Range"):
            self.server.ranges.append(asked)
            start = int(asked.removeprefix("bytes=").split("-")[0])
            headers = headers | {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"}
        self.send_response(206 if start else 200)
        for key, value in (headers | {"Content-Length": str(len(data) - start)}).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault is None or fault.cut is None:
            self.wfile.write(data[start:])
            return
        self.wfile.write(data[start : start + fault.cut])
        self.close_connection = True
        if fault.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def refuse(self, status: int, code: str | None, message: str | None, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {"X-Error-Code": code, "X-Error-Message": message, "Content-Length": "0", **(headers or {})}.items():
            if value is not None:
                self.send_header(key, value)
        self.end_headers()


def files(folder: Path) -> list[dict[str, Any]]:
    """All files of a folder as the Hub lists them."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [describe_file(path, path.relative_to(folder).as_posix()) for path in paths]


def describe_file(path: Path, name: str) -> dict[str, Any]:
    data = path.read_bytes()
    told = {"rfilename": name, "size": len(data), "blobId": hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()}
    if path.suffix not in LFS:
        return told
    return told | {"lfs": {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("folders", nargs="+", metavar="[NAME=]FOLDER")
    args = parser.parse_args()
    hub = FakeHub(args.port)
    for text in args.folders:
        name, _, folder = text.rpartition("=")
        hub.add(name or f"test/{Path(folder).resolve().name}", Path(folder))
    print(hub.url, flush=True)
    hub.serve_forever()


if __name__ == "__main__":
    main()
