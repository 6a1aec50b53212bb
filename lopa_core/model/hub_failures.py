"""Why the Hub gave nothing, each failure in one sentence that says what would do."""

from __future__ import annotations

import errno
import re

from huggingface_hub import constants, get_token
from huggingface_hub.errors import (
    DisabledRepoError,
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    HTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import parse_ratelimit_headers

# What the library raises: its own errors, the HTTP client's, the system's; Xet's are RuntimeErrors, a file too large for HTTP a ValueError.
FAILURES = (HTTPError, OSError, RuntimeError, ValueError)


class ProxyError(RuntimeError):
    """A proxy of the environment that cannot be used."""


def broken_off(error: BaseException) -> bool:
    """Whether the connection failed, not the request: worth another try."""
    return isinstance(error, HTTPError) and not isinstance(error, HfHubHTTPError)


def cause(error: Exception) -> Exception:
    """What really happened: the library wraps a failure for which it finds no file in its cache either."""
    inner = error.__cause__
    return inner if isinstance(error, LocalEntryNotFoundError) and isinstance(inner, Exception) else error


def sentence(error: Exception, repository: str, revision: str | None) -> str:
    """Why `repository` could not be had. error: one of FAILURES."""
    error, page = cause(error), f"{constants.ENDPOINT}/{repository}"
    match error:
        case ProxyError():
            return (
                f"{repository} cannot be loaded because the environment's proxy cannot be used ({first_line(error)}): set HTTPS_PROXY and "
                "ALL_PROXY to an http:// one (a socks5:// one takes pip install socksio), unset them, or give a folder."
            )
        case GatedRepoError():
            account = " with the account of the token in use" if get_token() else ", then set HF_TOKEN to a token of your account"
            return f"{repository} is gated: accept its licence at {page}{account}."
        case DisabledRepoError():
            return f"{repository} was disabled on the Hub: take another repository."
        case RevisionNotFoundError():
            return f"{repository} has no revision {revision!r}: take a branch, a tag or a commit listed at {page}/commits/main."
        case RemoteEntryNotFoundError():
            return f"A file of {repository} that its listing names is gone from the Hub: try again in a few minutes."
        case RepositoryNotFoundError():
            return not_found(repository)
        case HfHubHTTPError():
            return refused(error, repository)
        case OfflineModeIsEnabled():
            return f"{repository} is not in {constants.HF_HUB_CACHE}, and HF_HUB_OFFLINE forbids to load it: unset it, or give a folder."
        case HTTPError():
            return (
                f"{repository} cannot be loaded because {constants.ENDPOINT} cannot be reached ({first_line(error)}): check the network "
                "and its proxy and try again, or give a folder."
            )
        case FileMetadataError():
            return f"What answers at {constants.ENDPOINT} is not a Hub ({first_line(error)}): check HF_ENDPOINT, proxies and firewalls."
        case OSError(errno=int()):
            return cannot_be_kept(error, repository)
    return f"{repository} could not be loaded ({first_line(error)}): try again, or with HF_HUB_DISABLE_XET=1 by plain HTTP."


def not_found(repository: str) -> str:
    hint = "the token in use may not read it" if get_token() else "it is private and HF_TOKEN is not set"
    return f"There is no folder {repository} here and no repository {repository} on the Hub, or {hint}: check the name."


def refused(error: HfHubHTTPError, repository: str) -> str:
    """The sentence for a plain HTTP status."""
    status, headers = error.response.status_code, error.response.headers
    if status == 429:
        limit = parse_ratelimit_headers(headers)
        seconds = limit.reset_in_seconds if limit else headers.get("Retry-After")
        when = f"in {seconds} seconds" if seconds else "in some minutes"
        more = "" if get_token() else ", or set HF_TOKEN, with which more is allowed"
        return f"The Hub takes no more requests from here for now: try {repository} again {when}{more}."
    if status >= 500:
        return f"The Hub is out of order (HTTP {status}): try {repository} again in some minutes, or give a folder."
    if status == 401:
        return f"The Hub does not accept the token in use: set HF_TOKEN to one of {constants.ENDPOINT}/settings/tokens, or unset it."
    if status == 403:
        return f"The token in use may not read {repository}: give it that right at {constants.ENDPOINT}/settings/tokens."
    return f"The Hub refuses {repository} (HTTP {status}): check the name, and HF_ENDPOINT where it is set."


def cannot_be_kept(error: OSError, repository: str) -> str:
    """The sentence for a disk that does not take what was loaded."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full while {repository} is loaded into {constants.HF_HUB_CACHE}: make room, or set HF_HOME to a larger disk."
    return f"{repository} cannot be kept in {constants.HF_HUB_CACHE} ({error.strerror}): set HF_HOME to a folder that can be written."


def first_line(error: Exception) -> str:
    """The beginning of what a library says, without its end mark, for the middle of a sentence."""
    text = str(error).strip() or type(error).__name__
    return re.split(r"\n|\. ", text, maxsplit=1)[0].rstrip(".:")
