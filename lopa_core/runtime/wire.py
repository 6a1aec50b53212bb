"""Messages between the app and its workers: JSON objects in frames, over a pipe or a socket. Never a pickle."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import struct
import threading
from multiprocessing.connection import Connection
from typing import Any

import orjson

LARGEST = 64 * 2**20  # bytes of one message


class Link:
    """One end of a connection. Any thread may send or close; one thread receives."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.sending = threading.Lock()
        self.receiving = threading.Lock()

    def send(self, **message: Any) -> bool:
        """Whether it could be handed over; that a link is broken is told by `receive`, on the thread that listens."""
        frame = orjson.dumps(message)
        with self.sending:
            try:
                self.connection.send_bytes(frame)
            except OSError:  # the other end is gone, or has not read for too long
                self.hang_up()  # part of the frame may be under way: nothing can follow it
                return False
        return True

    def receive(self) -> dict[str, Any]:
        """The next message. Raises EOFError or OSError once the other end is gone, ValueError for what is no message."""
        with self.receiving:
            frame = self.connection.recv_bytes(LARGEST)
        message = orjson.loads(frame)
        if not isinstance(message, dict):
            raise ValueError("A message has to be a JSON object.")
        return message

    def limit(self, *, receive: float | None = None, send: float | None = None) -> None:
        """Seconds that a read or a write may wait for the other end; 0: for ever. Raises OSError where it is closed."""
        with self.line() as line:
            for what, seconds in ((socket.SO_RCVTIMEO, receive), (socket.SO_SNDTIMEO, send)):
                if seconds is not None:
                    line.setsockopt(socket.SOL_SOCKET, what, struct.pack("ll", math.ceil(seconds), 0))

    def hang_up(self) -> None:
        """End it, so that both ends hear of it even while a thread is listening or sending."""
        with contextlib.suppress(OSError), self.line() as line:  # closed already, or gone
            line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Hang up and let go, once nobody reads or writes: the number of the socket may soon be another's."""
        self.hang_up()
        with self.sending, self.receiving:
            self.connection.close()

    def line(self) -> socket.socket:
        """The socket below, under a number of its own."""
        return socket.socket(fileno=os.dup(self.connection.fileno()))
