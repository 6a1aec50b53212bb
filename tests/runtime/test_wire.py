"""Messages between processes, and what a worker makes of an error: without any process."""

from __future__ import annotations

import socket
import struct
import threading
import time
from multiprocessing.connection import Connection

import pytest
import torch

from lopa_core.runtime import wire
from lopa_core.runtime.messages import first_line, out_of_memory
from lopa_core.runtime.wire import Link

pytestmark = pytest.mark.timeout(20)


@pytest.fixture
def links():
    ends = socket.socketpair()
    ends[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 200_000))
    pair = [Link(Connection(end.detach())) for end in ends]
    yield pair
    for link in pair:
        link.close()


def test_what_is_sent_is_received(links):
    message = {"do": "run", "prompt": list(range(50_000)), "text": "naïve 🦜", "number": 2**62, "none": None, "share": 0.1}
    threading.Thread(target=lambda: links[0].send(**message)).start()  # it is larger than what the socket takes in
    assert links[1].receive() == message


def test_frames_of_many_threads_stay_whole(links):
    def send(index: int) -> None:
        for _ in range(50):
            links[1].send(index=index, body=[index] * 5000)

    threads = [threading.Thread(target=send, args=[index]) for index in range(4)]
    for thread in threads:
        thread.start()
    told = [links[0].receive() for _ in range(200)]
    assert all(message["body"] == [message["index"]] * 5000 for message in told)
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("frame", (b"[1, 2]", b"{", b"null", b"\xff"))
def test_what_is_no_message_is_refused(links, frame):
    links[0].connection.send_bytes(frame)
    with pytest.raises(ValueError):
        links[1].receive()


def test_a_message_that_is_too_long_is_refused(links, monkeypatch):
    monkeypatch.setattr(wire, "LARGEST", 100)
    links[0].send(text="x" * 200)
    with pytest.raises(OSError):
        links[1].receive()


def test_a_broken_link_is_told_on_both_ends(links):
    assert links[0].send(fine=True)
    links[1].close()
    links[1].close()  # twice does no harm
    with pytest.raises((EOFError, OSError)):
        links[0].receive()
    assert not links[0].send(fine=False) and not links[1].send(fine=False)


def test_closing_wakes_who_listens_and_who_sends(links):
    ended = []

    def listen() -> None:
        with pytest.raises((EOFError, OSError)):
            links[0].receive()
        ended.append("listening")

    def send() -> None:
        assert not links[1].send(text="x" * 10_000_000)
        ended.append("sending")

    threads = [threading.Thread(target=listen), threading.Thread(target=send)]
    threads[1].start()
    time.sleep(0.1)
    links[1].close()
    threads[0].start()
    for thread in threads:
        thread.join(5)
    assert sorted(ended) == ["listening", "sending"]


def test_who_does_not_read_holds_nobody_up_for_ever(links):
    began = time.monotonic()
    assert not links[0].send(text="x" * 10_000_000)
    assert time.monotonic() - began < 20


def test_no_room_is_told_from_other_errors():
    with pytest.raises(RuntimeError) as refused:
        torch.empty(2**50)
    assert out_of_memory(refused.value) and out_of_memory(MemoryError()) and out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    assert not out_of_memory(RuntimeError("CUDA error: an illegal memory access was encountered"))
    assert first_line(MemoryError()) == "MemoryError" and first_line(RuntimeError("one\ntwo")) == "one"


def test_a_link_lets_go_of_its_socket_only_when_nobody_reads(links):
    """Else a reader between the two halves of a frame would go on with the number of a socket that is another's by now."""
    reading, go_on, order = threading.Event(), threading.Event(), []

    class Slow:
        def recv_bytes(self, longest):
            reading.set()
            assert go_on.wait(15)
            order.append("read")
            return b"{}"

        def fileno(self):
            return links[0].connection.fileno()

        def close(self):
            order.append("closed")

    link = Link(Slow())
    threads = [threading.Thread(target=act) for act in (link.receive, link.close)]
    threads[0].start()
    assert reading.wait(15)
    threads[1].start()
    time.sleep(0.2)
    go_on.set()
    for thread in threads:
        thread.join()
    assert order == ["read", "closed"]
