"""From a built page to its visitors: a port, the local address, a public link where one is wanted, a clean end.

Nothing here imports Gradio before it is needed, so that a taken port is told at once.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import gradio as gr

PATIENCE = 60.0  # seconds for the tunnel: a download and two answers from elsewhere


def serve(
    page: gr.Blocks,
    host: str,
    ports: Sequence[int],
    *,
    health: Callable[[], dict[str, Any]],
    auth: list[tuple[str, str]] | None,
    browser: bool,
    share: bool,
) -> bool:
    """Serve `page` until SIGTERM or Ctrl-C. False, at once, where none of `ports` can be had. health: for /healthz."""
    from .health import add_health  # with the web server's packages

    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    if not launch(page, host, ports, auth, browser):
        return False
    add_health(page.app, health)
    moved = f" (port {ports[0]} is taken)" if page.server_port != ports[0] else ""
    print(f"LoPA Side by Side runs on {page.local_url}{moved}", flush=True)
    link = public_link(page, protected=bool(auth)) if share else None
    over.wait()
    if link:
        link.close()
    page.close(verbose=False)
    return True


def launch(page: gr.Blocks, host: str, ports: Sequence[int], auth: list[tuple[str, str]] | None, browser: bool) -> bool:
    """Launch `page` on the first of `ports` that can be had; whether there was one."""
    from starlette.requests import ClientDisconnect
    from starlette.responses import Response

    from .layout import look
    from .proxies import avoided

    # a visitor who leaves in the middle of an upload is no error of ours: the web server would log it with a traceback
    handlers = {ClientDisconnect: lambda *_: Response(status_code=400)}
    for port in ports:
        if not free(host, port):  # Gradio would wait five seconds for it
            continue
        try:
            with avoided(page):
                page.launch(
                    server_name=host, server_port=port, auth=auth, share=False, prevent_thread_lock=True, quiet=True, inbrowser=browser,
                    footer_links=["api"], run_history=False, ssr_mode=False, max_file_size="16mb",
                    app_kwargs={"exception_handlers": handlers}, **look(),
                )  # fmt: skip
        except OSError as error:
            if error.errno is not None:  # a full disk, say; for a port that was taken meanwhile Gradio raises one without a number
                raise
        else:
            return True
    return False


def free(host: str, port: int) -> bool:
    """Whether a server can listen there, on at least one of the addresses of that name."""
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):  # no such name, or nothing that could be one
        return False
    for family, *_, address in found:
        with contextlib.suppress(OSError), socket.create_server(address, family=family):
            return True
    return False


def public_link(page: gr.Blocks, *, protected: bool) -> PublicLink | None:
    """Begin to ask for a public link to the running page; None on a Space, which is public itself."""
    space = os.environ.get("SPACE_ID")
    if space:
        print(f"--share is not needed on a Space: this one is public at https://huggingface.co/spaces/{space}", flush=True)
        return None
    if not protected:
        print("A public link is open to everybody who has it; --auth USER:PASSWORD asks for a name and a password.", flush=True)
    link = PublicLink(page)
    link.start()
    return link


class PublicLink:
    """Gradio's tunnel to a page that already runs.

    `launch(share=True)` would wait for a download and for servers elsewhere, without a limit where a firewall
    swallows the answer; here the same attempt runs beside the page. The page is not told of the link
    (`page.share`), because Gradio would then have it load its scripts from a CDN.
    """

    def __init__(self, page: gr.Blocks, patience: float = PATIENCE) -> None:
        self.page = page
        self.patience = patience
        self.pending = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self.attempt, name="public link", daemon=True).start()
        alarm = threading.Timer(self.patience, self.give_up, [f"Gradio's tunnel did not come up within {self.patience:g} seconds"])
        alarm.daemon = True
        alarm.start()

    def attempt(self) -> None:
        from gradio import networking

        page = self.page
        try:
            url = networking.setup_tunnel(
                local_host=page.server_name, local_port=page.server_port, share_token=page.share_token,
                share_server_address=page.share_server_address, share_server_tls_certificate=page.share_server_tls_certificate,
            )  # fmt: skip
        except Exception as error:  # a download, a program and two servers of others: whatever fails there is told, and the page goes on
            self.give_up(reason(error))
            return
        if self.settle():
            print(f"Public link: {urlsplit(url)._replace(scheme=page.share_server_protocol).geturl()}", flush=True)
        else:
            drop_tunnels()  # too late: nobody would know that the page is public

    def give_up(self, why: str) -> None:
        if self.settle():
            drop_tunnels()
            print(f"No public link: {why}. The page runs on this machine all the same.\n{other_ways(self.page)}", flush=True)

    def close(self) -> None:
        self.settle()
        drop_tunnels()

    def settle(self) -> bool:
        """True for the first to ask: answer, failure, time limit and shutdown race, and one of them has the last word."""
        return self.pending.acquire(blocking=False)


def drop_tunnels() -> None:
    """End Gradio's tunnel programs; the page's `close` leaves them running."""
    from gradio.tunneling import CURRENT_TUNNELS

    with contextlib.redirect_stdout(io.StringIO()):  # it prints which one it ends
        for tunnel in CURRENT_TUNNELS:
            tunnel.kill()


def reason(error: Exception) -> str:
    """Why there is no tunnel, in plain words first."""
    import httpx
    from gradio.exceptions import ChecksumMismatchError, ShareCertificateWriteError
    from gradio.tunneling import BINARY_PATH

    words = {
        ChecksumMismatchError: f"the tunnel program came damaged; delete {BINARY_PATH} and try again",
        ShareCertificateWriteError: "the tunnel's certificate cannot be written into the folder this was started in",
        httpx.HTTPError: "the tunnel program cannot be downloaded from here",
        RuntimeError: "Gradio's share service cannot be reached from here",
        ValueError: "Gradio's tunnel server refused the connection",
        OSError: "the tunnel program does not run on this machine",
    }
    said = next((text for kind, text in words.items() if isinstance(error, kind)), "Gradio's tunnel failed")
    cause = error.__cause__ or error
    return f"{said} ({': '.join([type(cause).__name__, *str(cause).strip().splitlines()[:1]])})"


def other_ways(page: gr.Blocks) -> str:
    """What would do instead of a public link, a line each."""
    port, here = page.server_port, urlsplit(page.local_url).hostname
    local = here in ("localhost", "127.0.0.1", "::1")
    everywhere = page.server_name in ("0.0.0.0", "[::]")
    start = "" if everywhere or not local else "start it with --host 0.0.0.0, then "
    return (
        f"  In the same network: {start}http://{own_address() if local else here}:{port}\n"
        f"  Through a machine that others reach: ssh -R 80:{here}:{port} HOST\n"
        f"  For who may log in here: ssh -L {port}:{here}:{port} {socket.gethostname()}, then http://localhost:{port}\n"
        "  Without this machine: the page as a Hugging Face Space, or a race downloaded as an HTML file that replays by itself"
    )


def own_address() -> str:
    """This machine's address in its network. Connecting a datagram socket sends nothing, it only looks up the route."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # an address reserved for documentation
            return probe.getsockname()[0]
    except OSError:  # no route: no network
        return socket.gethostname()
