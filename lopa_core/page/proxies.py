"""The page where the environment names a proxy: Gradio asks its own address when it starts, and a proxy cannot answer that."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import gradio as gr
    import httpx


@contextlib.contextmanager
def hidden() -> Iterator[None]:
    """Around the import of Gradio, before there are other threads.

    It makes HTTP clients there, which this page never uses, and the import fails where they cannot use the proxy (SOCKS without
    a package for it, an unknown scheme). The Hub is asked later, through the proxy.
    """
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    for name in proxies:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(proxies)


@contextlib.contextmanager
def avoided(page: gr.Blocks) -> Iterator[None]:
    """While `page` is launched: its requests to itself go straight there, all others of this process as ever."""
    import httpx

    def straight(request: Callable[..., httpx.Response]) -> Callable[..., httpx.Response]:
        def send(url: str, **options: Any) -> httpx.Response:
            itself = bool(page.local_url) and str(url).startswith(page.local_url)
            return request(url, **options, **({"trust_env": False} if itself else {}))

        return send

    before = httpx.get, httpx.head
    httpx.get, httpx.head = map(straight, before)
    try:
        yield
    finally:
        httpx.get, httpx.head = before
