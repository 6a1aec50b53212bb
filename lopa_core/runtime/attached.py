"""Workers that run elsewhere, reached by address through their gate (runtime/gateway.py)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from multiprocessing.connection import AuthenticationError
from typing import Any

from ..model.errors import ModelError
from .crew import Crew, Member, Patience
from .gateway import reach
from .wire import Link

log = logging.getLogger(__name__)


class Attached(Crew):
    """Raises ModelError where the gate cannot be reached, refuses the secret, or has another app attached."""

    def __init__(self, address: tuple[str, int], secret: bytes, patience: Patience | None = None) -> None:
        super().__init__(patience or Patience(), ())
        self.address, self.secret = address, secret
        self.closing = threading.Event()
        self.attach()
        threading.Thread(target=self.listen, name="attached workers", daemon=True).start()

    def attach(self) -> None:
        where = f"{self.address[0]}:{self.address[1]}"
        try:
            self.link = Link(reach(self.address, self.secret, patience=0.0))
            self.link.send(app=True)
            hello = self.link.receive()
        except AuthenticationError:
            raise ModelError(f"The workers at {where} know another secret: set LOPA_SECRET to theirs.") from None
        except (OSError, EOFError, ValueError) as error:
            raise ModelError(f"No workers answer at {where} ({type(error).__name__}): start them first, see README.") from None
        if hello.get("at") != "attached":
            raise ModelError(f"The workers at {where} cannot be attached to: {str(hello.get('error'))[:200]}")
        self.model, self.dtype = hello["model"], hello["dtype"]
        self.notices, self.shifted = tuple(hello["notices"]), hello["shifted"]
        self.names = tuple(hello["devices"])
        self.peers = [Member(rank, name, at="ready", name=name) for rank, name in enumerate(self.names)]
        self.become("ready", "")

    def listen(self) -> None:
        """Take in what the workers send; when the gate is lost, come back to it as soon as it is there again."""
        rest = self.patience.rest
        while not self.closing.is_set():
            try:
                self.take(self.link.receive())
                rest = self.patience.rest
            except (EOFError, OSError, ValueError):
                self.break_off("starting", "The connection to the workers is lost.")
                if self.closing.wait(rest):
                    break
                rest = min(2 * rest, self.patience.longest_rest)
                self.come_back()

    def come_back(self) -> None:
        try:
            self.attach()
        except ModelError as error:
            self.become("starting", str(error))

    def take(self, message: dict[str, Any]) -> None:
        if "pong" in message:
            self.take_pong(self.peers[message["rank"]], message)
        elif "run" in message:
            self.take_run(message)

    def tell(self, **message: Any) -> bool:
        return self.link.send(**message)

    def restart(self, why: str, peers: Sequence[Member]) -> None:
        """Only who started them can start them again; a new connection at least cancels what they do."""
        if self.peers is peers:
            self.break_off("starting", why)
            self.link.close()

    def close(self) -> None:
        self.closing.set()
        self.link.close()
