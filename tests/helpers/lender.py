"""A stand-in for ZeroGPU's package: its decorator runs a generator in a process forked for the call, and pickles all that crosses."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from typing import Any

import gradio as gr

FORK = multiprocessing.get_context("fork")


class Lender:
    """asked: the seconds that each call wanted; children: the processes that were forked; refusal: raised instead of lending."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.asked: list[int] = []
        self.children: list[multiprocessing.Process] = []
        self.refusal = refusal

    def GPU(self, task: Callable[..., Iterator[Any]], *, duration: Callable[..., int]) -> Callable[..., Iterator[Any]]:
        def call(*arguments: Any) -> Iterator[Any]:
            self.asked.append(duration(*arguments))
            if self.refusal:
                raise self.refusal
            ours, theirs = FORK.Pipe()
            child = FORK.Process(target=serve, args=(task, pickle.dumps(arguments), ours, theirs), daemon=True)
            self.children.append(child)
            child.start()
            theirs.close()
            try:
                yield from results(ours)
            finally:
                ours.close()  # the child notices at its next result
                child.join(timeout=20)

        return call


def serve(task: Callable[..., Iterator[Any]], arguments: bytes, ours: Connection, theirs: Connection) -> None:
    """The child's side."""
    ours.close()
    with closing(task(*pickle.loads(arguments))) as told:
        try:
            for result in told:
                theirs.send((result, ""))
            theirs.send((None, "over"))
        except BrokenPipeError:  # nobody listens any more
            return
        except Exception as error:
            theirs.send((None, type(error).__name__))


def results(line: Connection) -> Iterator[Any]:
    """The caller's side; errors as the package words them."""
    while True:
        try:
            result, ended = line.recv()
        except EOFError:
            ended = "GPU task aborted"
        if ended == "over":
            return
        if ended:
            raise gr.Error(ended, title="ZeroGPU worker error", print_exception=False)
        yield result
