"""The gate between an app and the ranks: nobody who breaks off, vanishes or sends anything at all shuts it for others."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

import pytest

from lopa_core.model.errors import ModelError
from lopa_core.runtime import gate as gates
from lopa_core.runtime.attached import Attached
from lopa_core.runtime.crew import Patience, PoolFault
from lopa_core.runtime.gate import Gate
from lopa_core.runtime.gateway import reach

from ..helpers.pools import until

pytestmark = pytest.mark.timeout(300)

SECRET = b"correct horse battery"
QUICK = Patience(beat=0.1, missed=50, answer=30, rest=0.1)
IDENTITY = {"model": "fake", "this program's code": "abc"}


class Rank:
    """Answers pings and notes what else it is told."""

    def __init__(self, address, number):
        self.link, self.heard, self.answers = reach(address, SECRET), [], True
        self.link.limit(receive=0, send=0)
        self.link.send(rank=number)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        with contextlib.suppress(EOFError, OSError):
            while True:
                message = self.link.receive()
                if message["do"] != "ping":
                    self.heard.append(message)
                elif self.answers:
                    self.link.send(pong=message["ping"], running=None, rounds=0, memory={"used": 0, "total": 0})


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(gates, "SILENCE", 3.0)
    monkeypatch.setattr(gates, "GREETING", 1.0)


class Lasting(Gate):
    """Does not end the process with a rank: its ranks end with a test."""

    def lose(self, rank):
        pass


@pytest.fixture
def stand():
    """(address, ranks) of a gate with two ranks."""
    gate = Lasting(("127.0.0.1", 0), SECRET, 2)
    address = gate.listener.address
    ranks = [Rank(address, number) for number in range(2)]
    assert gate.complete.wait(60)
    gate.about = {"model": "fake", "devices": ["a", "b"], "dtype": "float32", "notices": (), "identity": IDENTITY}
    yield address, ranks
    for rank in ranks:
        rank.link.close()


def attach(address, **how):
    return Attached(address, SECRET, QUICK, **how)


def works(address) -> None:
    """An app can attach, hears of both ranks, and leaves."""
    crew = attached_in_time(address)
    until(lambda: [told["answers"] for told in crew.health()["workers"]] == [True, True])
    crew.close()


def attached_in_time(address, seconds=60.0) -> Attached:
    """As soon as the one before is known to be gone."""
    end = time.monotonic() + seconds
    while True:
        try:
            return attach(address)
        except ModelError as error:
            assert "Another app" in str(error) and time.monotonic() < end


# ---- breaking off ----------------------------------------------------------------------------------------------------


class Recorded(Connection):
    """Writes down every byte that the caller sends."""

    def _send(self, data, *_):
        self.sent = getattr(self, "sent", b"") + bytes(data)
        super()._send(data)


def greeting(address) -> bytes:
    """The bytes that an app sends to come in and ask for something; where challenges differ they are as long."""
    caller = Recorded(socket.create_connection(address).detach())
    answer_challenge(caller, SECRET)
    deliver_challenge(caller, SECRET)
    caller.send_bytes(b'{"app":true}')
    caller.recv_bytes()
    caller.send_bytes(b'{"do":"ping","ping":5}')
    caller.close()
    return caller.sent


class Cut(Connection):
    """Breaks off before its nth byte."""

    left = 0

    def _send(self, data, *_):
        part = bytes(data)[: self.left]
        super()._send(part)
        self.left -= len(part)
        if len(part) < len(data):
            raise BrokenPipeError


@pytest.mark.parametrize("how", ("closed", "reset"))
def test_a_caller_may_break_off_at_any_byte(stand, how):
    address, _ = stand
    for count in range(len(greeting(address))):
        line = socket.create_connection(address)
        if how == "reset":
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        caller = Cut(line.detach())
        caller.left = count
        with contextlib.suppress(OSError, EOFError):
            answer_challenge(caller, SECRET)
            deliver_challenge(caller, SECRET)
            caller.send_bytes(b'{"app":true}')
            caller.recv_bytes()
            caller.send_bytes(b'{"do":"ping","ping":5}')
        caller.close()
    works(address)


@pytest.mark.parametrize(
    "sent",
    [b"GET / HTTP/1.1\r\n\r\n", b"\0" * 64, b"\xff" * 64, b"\0\0\0\5hello", b"\xff\xff\xff\xfe" * 9, b"\xff\xff\xff\xff" + b"\0" * 8, b""],
)
def test_a_stranger_may_send_anything(stand, sent, impatient):
    """Or nothing: who does not say who it is in time is let go."""
    address, _ = stand
    with socket.create_connection(address) as line:
        line.sendall(sent)
        line.settimeout(60)
        with contextlib.suppress(OSError):
            while line.recv(1000):  # until the gate hangs up
                pass
    works(address)


@pytest.mark.parametrize(
    "frame",
    [
        b'{"do":"run"}', b'{"do":"run","run":"x"}', b'{"do":["run"]}', b'{"do":"ping"}', b'{"do":"cancel"}', b'{"do":"exit"}', b"{}",
        b"[]", b"7", b"{", b"\xff", b"",
    ],
)  # fmt: skip
def test_an_app_may_send_anything(stand, frame):
    """No rank hears of it, and the next app may come."""
    address, ranks = stand
    link = reach(address, SECRET)
    link.send(app=True)
    assert link.receive()["at"] == "attached"
    link.connection.send_bytes(frame)
    link.close()
    works(address)
    assert [rank.heard for rank in ranks] == [[], []]


@pytest.mark.parametrize("hello", [{}, {"app": 1}, {"rank": 0}, {"rank": 7}, {"rank": -1}, {"rank": "0"}, {"rank": None}])
def test_who_is_neither_an_app_nor_a_missing_rank_is_refused(stand, hello):
    """A second rank 0 too: its end would be taken for the first one's."""
    address, _ = stand
    link = reach(address, SECRET)
    link.send(**hello)
    assert link.receive()["at"] == "refused"
    link.close()
    works(address)


def test_the_gate_stays_open_where_nobody_can_be_let_in(stand, monkeypatch):
    """With too many open files, say."""
    address, _ = stand
    accept, failures = gates.Listener.accept, iter(range(3))

    def refused(listener):
        if next(failures, None) is not None:
            raise OSError(24, "Too many open files")
        return accept(listener)

    monkeypatch.setattr(gates.Listener, "accept", refused)
    works(address)
    works(address)


# ---- vanishing -------------------------------------------------------------------------------------------------------


def test_an_app_that_vanishes_makes_room(stand, impatient):
    """Its connection stays open, as when its machine is gone: its run is cancelled, and the next app comes in at its first try."""
    address, ranks = stand
    vanished = reach(address, SECRET)
    vanished.send(app=True)
    assert vanished.receive()["at"] == "attached"
    vanished.send(do="run", run=7)
    until(lambda: ranks[1].heard)
    began = time.monotonic()
    crew = attach(address)
    assert time.monotonic() - began > gates.SILENCE - 1
    until(lambda: ranks[1].heard[-1] == {"do": "cancel", "run": 7} == ranks[0].heard[-1])
    crew.close()


def test_an_app_that_vanishes_in_the_middle_of_a_word_makes_room(stand, impatient):
    address, _ = stand
    vanished = reach(address, SECRET)
    vanished.send(app=True)
    assert vanished.receive()["at"] == "attached"
    vanished.connection._send(struct.pack("!i", 500) + b'{"do":')
    attach(address).close()


def test_the_usual_silence_leaves_time_to_take_over():
    assert 8 * Patience().beat <= gates.SILENCE and gates.SILENCE + 2 * Patience().beat <= 15


def test_an_app_that_idles_is_no_app_that_vanished(stand, impatient):
    address, _ = stand
    crew = attach(address)
    time.sleep(2 * gates.SILENCE)
    with pytest.raises(ModelError, match="Another app is attached"):
        attach(address)
    assert crew.state == "ready"
    crew.close()


def test_an_app_whose_workers_have_fallen_silent_comes_back(stand):
    """As where their machine is gone: what the run has decoded is kept, and the connection is made anew."""
    address, ranks = stand
    crew = Attached(address, SECRET, Patience(beat=0.1, missed=20, rest=0.1))
    messages = crew.run({})
    for rank in ranks:
        rank.answers = False
    with pytest.raises(PoolFault, match="has said nothing for 2 seconds|ended unexpectedly"):
        next(messages)
    for rank in ranks:
        rank.answers = True
    crew.wait(60)
    until(lambda: all(told["answers"] for told in crew.health()["workers"]))
    crew.close()


def test_a_gate_that_says_nothing_is_a_sentence(monkeypatch):
    monkeypatch.setattr("lopa_core.runtime.gateway.ANSWER", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(ModelError, match="No workers answer at"):
        attach(silent.getsockname())


# ---- other workers than the app's --------------------------------------------------------------------------------------


def test_an_app_takes_no_workers_that_differ_from_it(stand):
    address, _ = stand
    attach(address, identity=IDENTITY).close()
    with pytest.raises(ModelError, match="have fake, not other: give the same by --model"):
        until_free(address, IDENTITY | {"model": "other"})
    with pytest.raises(ModelError, match="this program's code is .* on theirs"):
        until_free(address, IDENTITY | {"this program's code": "xyz"})
    works(address)


def until_free(address, identity):
    while True:
        try:
            attach(address, identity=identity)
        except ModelError as error:
            if "Another app" not in str(error):
                raise
