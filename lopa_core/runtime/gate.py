"""The gate that rank 0 keeps: the other ranks and one app connect to it, it hands commands to all ranks and answers back.

Callers prove by a challenge that they know the secret (it is never sent). Whatever a caller sends or leaves out harms
nobody but itself. An app shows every second that it is there (runtime/crew.py): one that has vanished without closing
its connection makes room for the next.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from multiprocessing.connection import Connection, Listener, answer_challenge, deliver_challenge
from typing import Any

from .wire import Link

log = logging.getLogger(__name__)
GREETING = 10.0  # seconds in which a caller has to say who it is
SILENCE = 10.0  # seconds without a word after which an app counts as gone
SENDING = 5.0  # seconds that an app may leave unread what it is sent


class Gate:
    """Between one app and the ranks. about: what an app is told when it attaches; None until they are ready."""

    def __init__(self, address: tuple[str, int], secret: bytes, ranks: int) -> None:
        self.listener, self.secret = Listener(address, backlog=16), secret
        self.ranks: dict[int, Link] = {}
        self.count = ranks
        self.about: dict[str, Any] | None = None
        self.complete = threading.Event()
        self.changed = threading.Condition()
        self.app: Link | None = None
        self.words = 0  # how often the app has been heard of
        self.running: int | None = None
        threading.Thread(target=self.accept, name="gate", daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                caller = self.listener.accept()
            except OSError as error:  # a caller that has left already, or too many open files: the next may come in
                log.warning("Somebody could not be let in at the gate: %s", error)
                time.sleep(0.1)
            else:
                threading.Thread(target=self.admit, args=[caller], daemon=True).start()

    def admit(self, caller: Connection) -> None:
        """Let in who knows the secret, and pass on what it sends until it leaves."""
        link = Link(caller)
        late = threading.Timer(GREETING, link.hang_up)
        late.daemon = True
        late.start()
        try:
            link.limit(send=SENDING)
            deliver_challenge(caller, self.secret)
            answer_challenge(caller, self.secret)
            hello = link.receive()
        except Exception as error:  # strangers may send anything, and the library answers much of it by an assert
            log.warning("Somebody was refused at the gate: %s", type(error).__name__)
            link.close()
            return
        finally:
            late.cancel()
        match hello:
            case {"rank": int(rank)}:
                self.add(rank, link)
            case {"app": True}:
                self.attend(link)
            case _:
                self.refuse(link, "This is no app.")

    def refuse(self, link: Link, why: str) -> None:
        link.send(at="refused", error=why)
        link.close()

    def add(self, rank: int, link: Link) -> None:
        """A rank: its answers go to the app, if there is one."""
        with self.changed:
            missing = rank in range(self.count) and rank not in self.ranks
            if missing:
                self.ranks[rank] = link
        if not missing:
            self.refuse(link, f"No rank {rank} is waited for.")
            return
        if len(self.ranks) == self.count:
            self.complete.set()
        try:
            while True:
                self.pass_on(link.receive() | {"rank": rank})
        except (EOFError, OSError, ValueError):
            self.lose(rank)

    def lose(self, rank: int) -> None:
        log.error("Rank %s is gone; its launcher has to start all of them again", rank)
        os._exit(1)

    def pass_on(self, message: dict[str, Any]) -> None:
        app = self.app
        if app is not None:
            app.send(**message)

    def attend(self, link: Link) -> None:
        """An app: its commands go to all ranks. A second one is turned away while the first is there."""
        why = self.take_place(link)
        if why:
            self.refuse(link, why)
            return
        try:
            link.limit(receive=SILENCE)
            link.send(at="attached", **self.about)
            while True:
                self.command(link.receive())
                with self.changed:
                    self.words += 1
                    self.changed.notify_all()
        except (EOFError, OSError, ValueError) as error:
            log.info("The app is gone: %s", type(error).__name__)
        finally:
            self.make_room(link)

    def take_place(self, link: Link) -> str:
        """Why an app cannot attach, "" if it can. Where another one is attached, that one is waited for: it shows that it is
        there, or is gone."""
        with self.changed:
            if self.about is None:
                return "They are still loading."
            words = self.words
            self.changed.wait_for(lambda: self.app is None or self.words > words, timeout=2 * SILENCE)
            if self.app is not None:
                return "Another app is attached to them."
            self.app = link
            return ""

    def make_room(self, link: Link) -> None:
        """For the next app."""
        if self.running is not None:
            self.command({"do": "cancel", "run": self.running})
        link.close()
        with self.changed:
            self.app = self.running = None
            self.changed.notify_all()

    def command(self, message: dict[str, Any]) -> None:
        match message:
            case {"do": "run", "run": int(number)}:
                self.running = number
            case {"do": "cancel", "run": int()} | {"do": "ping", "ping": int()}:
                pass
            case _:  # nobody ends the workers from outside
                log.warning("The app asks for what no worker does")
                return
        for link in list(self.ranks.values()):
            link.send(**message)
