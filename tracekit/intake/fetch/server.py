"""Sends PromQL to a server, and repeats a query while that may help.

The addresses, headers, times and spans that a user types are parsed here.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

import numpy as np

from tracekit.base.errors import TracekitError
from tracekit.intake.fetch.http import (
    CHUNK_BYTES,
    GO_ON,
    SHOWN_CHARACTERS,
    ClosedPortError,
    FetchError,
    Retries,
    request,
)

#: The words of Prometheus, Thanos and Mimir for a query that is too large.
_TOO_MUCH = re.compile(
    r"too many (samples|chunks|points)|exceeded maximum resolution|timed out in expression"
    r"|exceed(s|ed) (the )?(max|limit)|err-mimir-max|HTTP 413|HTTP 504",
    re.IGNORECASE,
)
#: A refusal of one query, which says nothing about other queries.
_ONE_QUERY = re.compile(r"HTTP (400|422)")
#: A wrong path in the address.
_NOWHERE = re.compile(r"HTTP 404")
#: Pages of Prometheus that users copy out of a browser.
_PAGES = re.compile(r"/(api/v1(/query(_range)?)?|graph|query|targets|alerts|classic/graph)$")
#: The largest answer of single values.
_SMALL_BYTES = 4 << 20
T = TypeVar("T")


class RefusedError(FetchError):
    """The error that Prometheus refuses a query as wrong (HTTP 400 or 422)."""


class TooMuchError(Exception):
    """The error that a query is too large for the server, so that it must be divided."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """A Prometheus server, and the settings of requests to the server.

    Parameters
    ----------
    url : str
        The address before ``/api/v1/query_range``.
    headers : mapping of str to str
        Headers of every request; they may be secret.
    heard : set of str
        URLs that have answered so far, even with an error. A refused connection is tried again only
        at such a URL.
    """

    url: str
    headers: Mapping[str, str]
    timeout_s: float
    retries: Retries
    rng: np.random.Generator
    heard: set[str] = field(default_factory=set)

    def query_range(self, promql: str, start_s: int, end_s: int, step_s: int) -> Iterator[bytes]:
        """Send a range query, and yield the bytes of the answer in pieces.

        Raises FetchError for every failure, also for a connection that breaks.
        """
        query = urlencode({"query": promql, "start": start_s, "end": end_s, "step": step_s})
        address = f"{self.url}/api/v1/query_range?{query}"
        try:
            with request(address, timeout_s=self.timeout_s, headers=self.headers) as reply:
                self.heard.add(self.url)
                while chunk := reply.read(CHUNK_BYTES):
                    yield chunk
                if reply.cut:
                    raise self.cut()
        except FetchError as error:
            what = error.what.replace(address, self.url)
            # a closed port of a server that never answered is a wrong address, and no pause
            closed = isinstance(error, ClosedPortError)
            if not closed:
                self.heard.add(self.url)
            raise FetchError(
                what,
                hint=error.hint if closed else self._no_such_page(error.what),
                passing=error.passing and not (closed and not self.heard),
                wait_s=error.wait_s,
                everywhere=error.everywhere,
            ) from error

    def _no_such_page(self, what: str) -> str | None:
        """The hint for a wrong path in the address; None for another failure."""
        if not _NOWHERE.search(what):
            return None
        return (
            f"nothing lies at {self.url}/api/v1/query_range: give the address with the path that"
            " stands before /api/v1 (a prefix as in http://host/prometheus), and none after it"
        )

    def values(self, promql: str, start_s: int, end_s: int, step_s: int) -> list[float]:
        """Return the finite values of all series of a small answer.

        Raises FetchError for an answer above 4 MiB or in another form.
        """
        answer = b""
        for chunk in self.query_range(promql, start_s, end_s, step_s):
            answer += chunk
            if len(answer) > _SMALL_BYTES:
                raise self.strange(answer)
        try:
            document = json.loads(answer)
            self.check_answer({**document, **document["data"]})
            result = document["data"]["result"]
            values = [float(value) for series in result for _, value in series["values"]]
            return [value for value in values if math.isfinite(value)]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            # an answer that begins well was cut off, by a server that does not say how long it is
            begun = isinstance(error, ValueError) and answer.startswith(b'{"status"')
            raise (self.cut() if begun else self.strange(answer)) from None

    def check_answer(self, members: Mapping[str, object]) -> None:
        """Raise FetchError if an answer is an error or its ``resultType`` is not ``matrix``."""
        if members.get("status") != "success":
            reason = str(members.get("error", members.get("status")))[:SHOWN_CHARACTERS]
            raise FetchError(f"{self.url} answers: {reason}")
        if members.get("resultType") != "matrix":
            raise self.strange(f"resultType {members.get('resultType')}".encode())

    def cut(self) -> FetchError:
        """Return the error for an answer that ends too early."""
        return FetchError(f"the connection was cut before the answer was whole: {self.url}")

    def strange(self, answer: bytes) -> FetchError:
        """Return the error for an answer that does not come from Prometheus."""
        return FetchError(
            f"{self.url} does not answer as Prometheus does; it begins {answer[:40]!r}",
            hint="the address is the one below which /api/v1/query_range lies",
            passing=False,
        )

    def tried(self, call: Callable[[], T], name: str, by_hand: str, *, alone: bool = False) -> T:
        """Call ``call`` until it succeeds or ``retries`` gives it up, and return its value.

        Parameters
        ----------
        name, by_hand : str
            The name of the query, and a command that sends it; both for messages.
        alone : bool
            Whether the query covers one time only, so that it cannot be divided.

        Raises
        ------
        TooMuchError
            For a query that is too large and can be divided.
        RefusedError
            For a query that the server refuses.
        FetchError
            For every other failure.
        """
        failed = 0
        while True:
            try:
                return call()
            except FetchError as error:
                failed += 1
                if not alone and _TOO_MUCH.search(error.what):
                    raise TooMuchError from error
                if self.retries.given_up(failed, error):
                    raise _given_up(error, name, by_hand) from error
                self.retries.sleep(self.retries.wait_s(failed, error, self.rng))


def _given_up(error: FetchError, name: str, by_hand: str) -> FetchError:
    what = f"{name}: {error.what}"
    if _ONE_QUERY.search(error.what):
        return RefusedError(what, hint=f"ask it by hand: {by_hand}")
    return FetchError(what, hint=error.hint or GO_ON, passing=error.passing)


def address(url: str) -> str:
    """Return the base address of a server: ``http://h:9090`` for ``http://h:9090/graph?x=1``.

    Raises TracekitError for an address that is not http or that holds a password.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise TracekitError(f"{url}: not an http address", hint="for example http://localhost:9090")
    if "@" in parts.netloc:
        raise TracekitError(
            f"the address of {parts.hostname} holds a name or a password, which would be printed",
            hint="give them by --header 'Authorization: Basic ...'",
        )
    return _PAGES.sub("", url.partition("#")[0].partition("?")[0].rstrip("/"))


def header(text: str) -> tuple[str, str]:
    """Parse ``NAME: VALUE`` into name and value; raise TracekitError for any other text.

    The error does not repeat the text, because it may be secret.
    """
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or "\n" in text:
        raise TracekitError(
            "--header: expected NAME: VALUE", hint="for example --header 'X-Scope-OrgID: team'"
        )
    return name.strip(), value.strip()


# Times and spans that a user types: 2026-01-31, 1767225600, now-24h; 30s, 5m, 1d.

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604_800}
_SPAN = re.compile(r"(\d+)([smhdw]?)")
_NOW = re.compile(r"now(?:-(.+))?")


def span_s(text: str, option: str) -> int:
    """Parse a span such as ``5m`` into seconds. Raise TracekitError for another text."""
    match = _SPAN.fullmatch(text.strip())
    if not match or int(match[1]) == 0:
        raise TracekitError(f"{option} {text}: not a span", hint="for example 30s, 5m, 6h or 1d")
    return int(match[1]) * _SECONDS[match[2] or "s"]


def time_s(text: str, option: str, now_s: float) -> int:
    """Parse a time into seconds since 1970. A time without a zone is UTC.

    Raises TracekitError for a text that is no time.
    """
    stripped = text.strip()
    match = _NOW.fullmatch(stripped)
    if match:
        return int(now_s) - (span_s(match[1], option) if match[1] else 0)
    if re.fullmatch(r"\d{9,11}(\.\d+)?", stripped):
        return int(float(stripped))
    try:
        read = datetime.fromisoformat(stripped)
    except ValueError:
        raise TracekitError(
            f"{option} {text}: not a time",
            hint="for example 2026-01-31, 2026-01-31T12:00:00Z, 1767225600 or now-24h",
        ) from None
    return int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp())


def spelled_time(time: int) -> str:
    """Print a time in seconds since 1970 as ``2026-01-31T12:00:00Z``."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def spelled_span(span: int) -> str:
    """Print a span in seconds as PromQL reads it: ``90s``, ``5m``."""
    return f"{span // 60}m" if span % 60 == 0 else f"{span}s"
