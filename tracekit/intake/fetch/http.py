"""Requests the remaining bytes of a file over HTTP; every failure becomes a FetchError.

``Retries`` decides when a fetch tries again, and how long it waits before.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from tracekit._version import VERSION
from tracekit.base.errors import TracekitError

_BUSY = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
}
_HINTS = {
    HTTPStatus.FORBIDDEN: "the server refuses this file; another mirror: --base-url URL",
    HTTPStatus.NOT_FOUND: "the base URL may be wrong, or the mirror incomplete: --base-url URL",
}
#: A slower server counts as silent.
_SLOWEST_BYTES_PER_S = 64
#: The bytes of an answer that are read at once.
CHUNK_BYTES = 1 << 18
#: The bytes of an error that are read for its reason.
_LONGEST_REASON = 1 << 16
#: The characters of a reason that a message repeats.
SHOWN_CHARACTERS = 400
_LOCAL = re.compile(r"localhost|127(\.\d+){3}|::1")
#: The hint for a fetch that ended too early.
GO_ON = "run the same command again: it goes on where it stopped"


class FetchError(TracekitError):
    """The error that a download failed.

    Parameters
    ----------
    passing : bool
        Whether the cause may pass soon, such as a broken connection or a busy server. Other faults,
        such as a refusal, are tried once more only.
    wait_s : float, optional
        The wait that the server asks for.
    everywhere : bool
        Whether every other file would fail too, as with a missing host or a full disk.
    """

    def __init__(
        self,
        what: str,
        *,
        hint: str | None = None,
        passing: bool = True,
        wait_s: float | None = None,
        everywhere: bool = False,
    ) -> None:
        super().__init__(what, hint=hint)
        self.passing = passing
        self.wait_s = wait_s
        self.everywhere = everywhere


@dataclass(frozen=True, kw_only=True)
class Retries:
    """The rules for trying a failed download again: exponential back-off with jitter.

    Parameters
    ----------
    tries : int
        The number of failed tries in a row after which a file is given up. A try that brings new
        bytes starts the count again.
    refused_tries : int
        The same number for an error that is not ``passing``, such as HTTP 403 or 404.
    first_wait_s, longest_wait_s : float
        The wait after the first failure, and its limit; it doubles with each failure.
    jitter : float
        Each wait is shortened by up to this share, so that many clients do not come at once.
    sleep : callable
        Waits for a number of seconds.
    """

    tries: int = 8
    refused_tries: int = 2
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    jitter: float = 0.5
    sleep: Callable[[float], object] = time.sleep

    def given_up(self, failed: int, error: FetchError) -> bool:
        """Return whether to give up after ``failed`` failed tries, the last with ``error``."""
        return failed >= (self.tries if error.passing else min(self.refused_tries, self.tries))

    def wait_s(self, failed: int, error: FetchError, rng: np.random.Generator) -> float:
        """Return the seconds to wait after ``failed`` failed tries in a row.

        If the server asks for a longer wait, its wait is returned. ``longest_wait_s`` limits both.
        """
        doubled = min(self.first_wait_s * 2.0 ** (failed - 1), self.longest_wait_s)
        own = doubled * (1 - self.jitter * rng.random())
        return max(own, min(error.wait_s or 0.0, self.longest_wait_s))


class RangeRefusedError(FetchError):
    """The error that the file on the server ends before the first requested byte (HTTP 416).

    So the bytes on the disk are of another file.
    """


class ClosedPortError(FetchError):
    """The error that the host refuses the connection, because no server listens at the port."""


class NoHostError(FetchError):
    """The error that the name of the host cannot be resolved."""


@dataclass(frozen=True, kw_only=True)
class Remote:
    """The length, ETag and Last-Modified of a file on a server, to see whether it has changed."""

    length: int | None
    etag: str | None
    modified: str | None

    @property
    def validator(self) -> str | None:
        """The value for ``If-Range``: a strong ETag, else Last-Modified; None without either.

        A weak ETag does not promise the same bytes.
        """
        if self.etag is not None and not self.etag.startswith("W/"):
            return self.etag
        return self.modified

    def differs(self, other: Remote) -> bool:
        """Return whether a property that both descriptions state has different values."""
        pairs = zip(
            (self.length, self.etag, self.modified),
            (other.length, other.etag, other.modified),
            strict=True,
        )
        return any(a is not None and b is not None and a != b for a, b in pairs)


class Reply:
    """An open HTTP response: the bytes of the file ``remote`` from byte ``start`` on."""

    def __init__(self, response: http.client.HTTPResponse, url: str, timeout_s: float) -> None:
        self._response, self._url = response, url
        self.start, self.remote = 0, _remote(response, response.headers.get("Content-Length"))
        self._length, self._read, self._broke = self.remote.length, 0, False
        self._timeout_s, self._since_s, self._before = timeout_s, time.monotonic(), 0
        if response.status == HTTPStatus.PARTIAL_CONTENT:
            span = re.fullmatch(
                r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", "")
            )
            self.start = int(span[1]) if span else -1
            self.remote = _remote(response, span[2] if span else None)

    def read(self, count_bytes: int) -> bytes:
        """Read up to ``count_bytes`` bytes; empty at the end, also if the connection broke."""
        with _as_fetch_error(self._url):
            try:
                data = self._response.read1(count_bytes)
            except http.client.IncompleteRead as error:
                data, self._broke = error.partial, True
        self._read += len(data)
        if data:
            self._check_pace()
        return data

    def _check_pace(self) -> None:
        """Raise FetchError where the last ``timeout_s`` seconds brought hardly any bytes."""
        now_s = time.monotonic()
        if now_s - self._since_s < self._timeout_s:
            return
        came = self._read - self._before
        if came < _SLOWEST_BYTES_PER_S * self._timeout_s:
            raise FetchError(
                f"{urlsplit(self._url).netloc} sent {came:,} bytes in {self._timeout_s:g} s:"
                f" {self._url}",
                hint="a longer patience: --timeout 300",
            )
        self._since_s, self._before = now_s, self._read

    @property
    def cut(self) -> bool:
        """Whether the bytes ended early, as far as the answer shows its length."""
        return self._broke or (self._length is not None and self._read < self._length)


def _remote(response: http.client.HTTPResponse, length: str | None) -> Remote:
    return Remote(
        length=int(length) if length is not None and length.isdigit() else None,
        etag=response.headers.get("ETag"),
        modified=response.headers.get("Last-Modified"),
    )


@contextmanager
def request(
    url: str,
    *,
    start: int = 0,
    before: Remote | None = None,
    timeout_s: float,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Reply]:
    """Request a URL from byte ``start`` on, or from byte 0 if the file has changed.

    Parameters
    ----------
    before : Remote, optional
        The description of the file that the bytes before ``start`` were taken from.
    headers : mapping of str to str
        Further headers; a redirected request goes without them.

    Raises
    ------
    RangeRefusedError
        When the file ends before ``start``.
    FetchError
        For every other failure.
    """
    own = {"User-Agent": f"tracekit/{VERSION}", "Accept-Encoding": "identity"}
    if start:
        own["Range"] = f"bytes={start}-"
        if before is not None and before.validator is not None:
            own["If-Range"] = before.validator
    to_send = urllib.request.Request(url, headers=own)  # noqa: S310 - plan admits http only
    for name, value in headers.items():
        # a redirect may lead to another party, which must not see secret headers
        to_send.add_unredirected_header(name, value)
    with _as_fetch_error(url):
        response = _opener(url).open(to_send, timeout=timeout_s)
    try:
        yield Reply(response, url, timeout_s)
    finally:
        response.close()


def _opener(url: str) -> urllib.request.OpenerDirector:
    """An opener without proxies for a server on this machine, else with the usual proxies."""
    local = _LOCAL.fullmatch(urlsplit(url).hostname or "")
    proxies = [urllib.request.ProxyHandler({})] if local else []
    return urllib.request.build_opener(_NoFtp, *proxies)


class _NoFtp(urllib.request.FTPHandler):
    """Refuses a redirect to ftp."""

    def ftp_open(self, req: urllib.request.Request) -> Any:
        raise urllib.error.URLError(f"a redirect leads to {urlsplit(req.full_url).scheme}")


@contextmanager
def _as_fetch_error(url: str) -> Iterator[None]:
    try:
        yield
    except urllib.error.HTTPError as error:
        stated = _reason(error)
        error.close()
        raise _from_status(error, url, stated) from error
    except urllib.error.URLError as error:
        reason = error.reason if isinstance(error.reason, Exception) else error
        raise _from_line(reason, url) from error
    except (OSError, http.client.HTTPException) as error:
        raise _from_line(error, url) from error


def _reason(error: urllib.error.HTTPError) -> str:
    """The reason of an error: the ``error`` of a JSON answer, else the status in words."""
    try:
        reason = json.loads(error.read(_LONGEST_REASON))["error"]
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError, RecursionError):
        return str(error.reason)
    return " ".join(str(reason).split())[:SHOWN_CHARACTERS]


def _from_status(error: urllib.error.HTTPError, url: str, reason: str) -> FetchError:
    if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        return RangeRefusedError(f"HTTP 416, the file on the server is another one: {url}")
    retry_after = error.headers.get("Retry-After", "") if error.headers is not None else ""
    return FetchError(
        f"HTTP {error.code} {reason}: {url}",
        hint=_HINTS.get(HTTPStatus(error.code)) if error.code in _HINTS else None,
        passing=error.code in _BUSY or error.code >= HTTPStatus.INTERNAL_SERVER_ERROR,
        wait_s=float(retry_after) if retry_after.isdigit() else None,
    )


def _from_line(reason: Exception, url: str) -> FetchError:
    host = urlsplit(url).netloc
    if isinstance(reason, socket.gaierror):
        return NoHostError(
            f"no host named '{host}' was found: {url}",
            hint="check the network and the address; another mirror: --base-url URL",
            passing=False,
            everywhere=True,
        )
    if isinstance(reason, ssl.SSLCertVerificationError):
        return FetchError(
            f"{host} cannot prove who it is: {reason.verify_message}",
            hint="check the address and this machine's clock and certificates",
            passing=False,
            everywhere=True,
        )
    if isinstance(reason, TimeoutError):
        return FetchError(f"{host} fell silent: {url}", hint="a longer patience: --timeout 300")
    if isinstance(reason, ConnectionRefusedError):
        return ClosedPortError(f"{host} refuses connections: {url}", hint="is the server running?")
    return FetchError(f"the line to {host} broke ({reason or type(reason).__name__}): {url}")
