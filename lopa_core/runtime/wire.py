"""Messages between the app and its workers: JSON objects in frames, over a pipe or a socket. Never a pickle."""

from __future__ import annotations

import contextlib
import os
import socket
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

    def send(self, **message: Any) -> bool:
        """Whether it could be handed over; that a link is broken is told by `receive`, on the thread that listens."""
        frame = orjson.dumps(message)
        with self.sending:
            try:
                self.connection.send_bytes(frame)
            except OSError:  # the other end is gone, or has not read for too long
                return False
        return True

    def receive(self) -> dict[str, Any]:
        """The next message. Raises EOFError or OSError once the other end is gone, ValueError for what is no message."""
        message = orjson.loads(self.connection.recv_bytes(LARGEST))
        if not isinstance(message, dict):
            raise ValueError("A message has to be a JSON object.")
        return message

    def close(self) -> None:
        """Hang up, so that both ends hear of it even while a thread is listening or sending, and let go."""
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self.connection.fileno())) as line:  # closed already, or gone
            line.shutdown(socket.SHUT_RDWR)
        with self.sending:
            self.connection.close()
