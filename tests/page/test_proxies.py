"""The page where the environment names a proxy that does not answer, or one that no library here can use."""

import os

import httpx
import pytest
from gradio_client import Client

from lopa_core.page.proxies import avoided, hidden

from .test_app import running

PROXIES = {
    "http": {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"},
    "lower case": {"http_proxy": "http://127.0.0.1:9"},
    "all": {"ALL_PROXY": "http://127.0.0.1:9"},
    "socks5": {"ALL_PROXY": "socks5://127.0.0.1:9"},
    "unknown scheme": {"all_proxy": "socks://127.0.0.1:9"},
    "no address": {"HTTP_PROXY": ":port:"},
}


@pytest.mark.parametrize("name", PROXIES)
def test_the_page_comes_up_behind_a_proxy(name):
    with running(**PROXIES[name]) as server:
        line = server.line()
        assert line.startswith("LoPA Side by Side runs on "), line
        url = line.split()[6]
        assert httpx.get(url).status_code == 200 and httpx.get(f"{url}healthz").status_code == 200
        if name == "socks5":
            client = Client(url, verbose=False)
            assert client.predict("Mia has 3 pens.", settings={"max_new_tokens": 16}, api_name="/decode")["rounds"] > 0
            client.close()
        server.left_cleanly()


def test_the_proxy_stays_for_others(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with hidden():
        assert "HTTPS_PROXY" not in os.environ
    assert os.environ["HTTPS_PROXY"] == "http://127.0.0.1:9"

    asked, before = [], (httpx.get, httpx.head)
    monkeypatch.setattr(httpx, "get", lambda url, **options: asked.append((url, options)))
    page = type("Page", (), {"local_url": "http://127.0.0.1:7999/"})
    with avoided(page):
        httpx.get("http://127.0.0.1:7999/startup", timeout=1)
        httpx.get("https://huggingface.co/x", timeout=2)
    assert asked == [("http://127.0.0.1:7999/startup", {"timeout": 1, "trust_env": False}), ("https://huggingface.co/x", {"timeout": 2})]
    monkeypatch.undo()
    assert (httpx.get, httpx.head) == before
