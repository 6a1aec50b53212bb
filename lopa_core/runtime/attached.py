"""Workers that run elsewhere, reached by address through their gate (runtime/gateway.py)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import AuthenticationError
from typing import Any

from ..model.errors import ModelError
from .crew import Crew, Member, Patience
from .gateway import reach
from .joining import differences
from .wire import Link

log = logging.getLogger(__name__)


class Attached(Crew):
    """identity: of the app's model and code (runtime/joining.py), which the workers have to share; None for any.

    Raises ModelError where the gate cannot be reached, refuses the secret, has another app attached, or other workers.
    """

    def __init__(
        self, address: tuple[str, int], secret: bytes, patience: Patience | None = None, identity: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(patience or Patience(), ())
        self.address, self.secret, self.identity = address, secret, identity
        self.attach()
        threading.Thread(target=self.listen, name="attached workers", daemon=True).start()
        self.start_heart()

    def attach(self) -> None:
        where = f"{self.address[0]}:{self.address[1]}"
        try:
            link = reach(self.address, self.secret, patience=0.0)
            link.send(app=True)
            hello = link.receive()
            link.limit(receive=0)  # the heart finds out if it falls silent
        except AuthenticationError:
            raise ModelError(f"The workers at {where} know another secret: set LOPA_SECRET to theirs.") from None
        except (OSError, EOFError, ValueError) as error:
            raise ModelError(f"No workers answer at {where} ({type(error).__name__}): start them first, see README.") from None
        if hello.get("at") != "attached":
            link.close()
            raise ModelError(f"The workers at {where} cannot be attached to: {str(hello.get('error'))[:200]}")
        self.check(hello, link, where)
        self.names, self.dtype, self.notices = tuple(hello["devices"]), hello["dtype"], tuple(hello["notices"])
        self.peers = [Member(rank, name, at="ready", name=name) for rank, name in enumerate(self.names)]
        self.link = link
        self.become("ready", "")
        self.beat()  # health should not have to wait for the next one

    def check(self, hello: dict[str, Any], link: Link, where: str) -> None:
        """Whether these workers can answer for this app: they may be others than before. Raises ModelError."""
        theirs = hello.get("identity", {})
        if self.identity is None or theirs == self.identity:
            return
        link.close()
        if theirs.get("model") != self.identity["model"]:
            raise ModelError(f"The workers at {where} have {hello['model']}, not {self.identity['model']}: give the same by --model.")
        differs = differences([self.identity, theirs], ["this side", "theirs"])
        raise ModelError(f"The workers at {where} differ from this app: {differs}. Start both with the same files and versions.")

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

    def ask(self, number: int, peers: Sequence[Member]) -> None:
        """Where none of them is heard of any more, the connection is: it is made anew."""
        if not all(self.silent(peer) for peer in peers):
            self.tell(do="ping", ping=number)
        elif self.works:
            self.restart("The workers have fallen silent.", peers)

    def restart(self, why: str, peers: Sequence[Member]) -> None:
        """Only who started them can start them again; a new connection at least cancels what they do."""
        if self.peers is peers:
            self.break_off("starting", why)
            self.link.close()

    def close(self) -> None:
        self.closing.set()
        self.link.close()
