"""HTTP/1.1 for a few small answers: one thread, and limits on all that a client may take.

A request has a Content-Length, or no body. Whoever is slow, huge or malformed is refused or cut
off; nobody else waits for it.
"""

import asyncio
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

#: The first line and the headers are no longer than this.
_HEAD_BYTES = 32 << 10
_JSON = "application/json"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a server.

    Parameters
    ----------
    body_bytes : int
        The longest body.
    together_bytes : int
        The bodies of all clients together, while they come in.
    request_s : float
        From the first byte of a request to its last, and from the first of an answer to its last.
    idle_s : float
        How long a connection stays open without a request.
    clients : int
        How many connections there are at a time.
    """

    body_bytes: int = 64 << 20
    together_bytes: int = 256 << 20
    request_s: float = 10.0
    idle_s: float = 120.0
    clients: int = 4096


@dataclass(frozen=True, kw_only=True)
class Request:
    """A whole request; ``target`` is the path with its query."""

    method: str
    target: str
    body: bytes


@dataclass(frozen=True, kw_only=True)
class Response:
    """An answer."""

    status: int
    body: bytes
    kind: str = _JSON


def refusal(status: int, why: str) -> Response:
    """An answer that says what was wrong."""
    return Response(status=status, body=json.dumps({"error": why}).encode() + b"\n")


class _RefusedError(Exception):
    """A request that is answered with an error, and ends the connection."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Web:
    """The listening side.

    Parameters
    ----------
    handle : callable
        Answers a request, at once.
    """

    def __init__(self, handle: Callable[[Request], Response], limits: Limits) -> None:
        self.handle, self.limits = handle, limits
        self.clients: set[_Client] = set()
        self.buffered_bytes = 0
        self.stopping = False
        self.refused = 0
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Listen; the port, which is a free one for 0."""
        loop = asyncio.get_running_loop()
        waits: dict[str, Any] = {"ssl_handshake_timeout": self.limits.request_s} if tls else {}
        self._server = await loop.create_server(
            lambda: _Client(self), host, port, ssl=tls, backlog=2048, **waits
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self, grace_s: float) -> None:
        """Take no more; whoever is in the middle of a request gets its answer, for a while."""
        self.stopping = True
        if self._server is not None:
            self._server.close()
        for client in tuple(self.clients):
            client.end_if_idle()
        end = asyncio.get_running_loop().time() + grace_s
        while self.clients and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110 - once
            await asyncio.sleep(0.02)
        for client in tuple(self.clients):
            client.abort()


class _Client(asyncio.Protocol):
    """One connection: its requests one after the other."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._head: tuple[str, str, int, bool] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closing = self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        crowded = len(self._web.clients) >= self._web.limits.clients
        self._web.clients.add(self)
        self._wait(self._web.limits.idle_s)
        if crowded:
            self._refuse(_RefusedError(503, "too many connections"))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - as it is called
        self._web.clients.discard(self)
        self._clear()
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        if not self._buffer:
            self._wait(self._web.limits.request_s)
        self._buffer += data
        self._web.buffered_bytes += len(data)
        self._go_on()

    def eof_received(self) -> bool:
        """A client that closed its side still gets the answers to whole requests."""
        self._closing = True
        return bool(self._paused)

    def pause_writing(self) -> None:
        """The client does not take its answers: it has so long to do so, and sends no more."""
        self._paused = True
        self._reading(on=False)
        self._wait(self._web.limits.request_s)

    def resume_writing(self) -> None:
        self._paused = False
        self._reading(on=True)
        self._wait(self._web.limits.request_s if self._buffer else self._web.limits.idle_s)
        self._go_on()

    def end_if_idle(self) -> None:
        """Close a connection on which nothing has begun."""
        if not self._buffer and not self._paused and self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Cut it off."""
        if self._transport is not None:
            self._transport.abort()

    def _go_on(self) -> None:
        """Answer the requests that have come whole."""
        try:
            while self._buffer and not self._paused:
                request = self._next()
                if request is None:
                    return
                self._answer(request)
        except _RefusedError as error:
            self._refuse(error)

    def _next(self) -> Request | None:
        """The request at the front; None as long as it is not whole."""
        if self._head is None:
            end = self._buffer.find(b"\r\n\r\n", 0, _HEAD_BYTES)
            if end < 0:
                if len(self._buffer) >= _HEAD_BYTES:
                    raise _RefusedError(431, "the headers are too long")
                return None
            head = bytes(self._buffer[:end])
            self._drop(end + 4)
            method, target, length, keep, expects = _read_head(head)
            if length > self._web.limits.body_bytes:
                raise _RefusedError(
                    413,
                    f"the body has {length} bytes, at most {self._web.limits.body_bytes} are taken",
                )
            self._head = method, target, length, keep
            if expects and len(self._buffer) < length and self._transport is not None:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        method, target, length, _ = self._head
        if len(self._buffer) < length:
            if self._web.buffered_bytes > self._web.limits.together_bytes:
                raise _RefusedError(503, "too many requests are coming in")
            return None
        body = bytes(self._buffer[:length])
        self._drop(length)
        return Request(method=method, target=target, body=body)

    def _answer(self, request: Request) -> None:
        keep = bool(self._head and self._head[3]) and not self._web.stopping
        self._head = None
        self._send(self._web.handle(request), keep=keep, with_body=request.method != "HEAD")
        if not keep:
            self._closing = True
            self._clear()
        elif not self._paused:
            waits = self._web.limits
            self._wait(waits.request_s if self._buffer else waits.idle_s)

    def _refuse(self, error: _RefusedError) -> None:
        self._web.refused += 1
        self._closing = True
        self._clear()
        self._send(refusal(error.status, str(error)), keep=False)

    def _send(self, answer: Response, *, keep: bool, with_body: bool = True) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        reason = HTTPStatus(answer.status).phrase
        head = (
            f"HTTP/1.1 {answer.status} {reason}\r\nContent-Type: {answer.kind}\r\n"
            f"Content-Length: {len(answer.body)}\r\n"
            f"Connection: {'keep-alive' if keep else 'close'}\r\n\r\n"
        ).encode()
        self._transport.write(head + answer.body if with_body else head)
        if not keep:
            self._wait(self._web.limits.request_s)
            self._transport.close()

    def _wait(self, seconds: float) -> None:
        """Cut the client off unless it comes further within so long."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.abort)

    def _reading(self, *, on: bool) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading() if on else self._transport.pause_reading()

    def _drop(self, count: int) -> None:
        del self._buffer[:count]
        self._web.buffered_bytes -= count

    def _clear(self) -> None:
        self._drop(len(self._buffer))


def _read_head(head: bytes) -> tuple[str, str, int, bool, bool]:
    """Method, target, length of the body, whether the connection stays, whether it waits to send.

    Raises _RefusedError for what is no request, and for a body whose length is not stated.
    """
    try:
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, version = first.split(" ")
    except ValueError:
        raise _RefusedError(400, "the first line is no request") from None
    if (
        version not in ("HTTP/1.1", "HTTP/1.0")
        or not (method.isascii() and method.isalpha())
        or target[:1] != "/"
    ):
        raise _RefusedError(400, "the first line is no request of HTTP/1.1")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name, value = name.lower(), value.strip()
        if not colon or not name or name != name.strip():
            raise _RefusedError(400, "a header has no name")
        if name == "content-length" and headers.get(name, value) != value:
            raise _RefusedError(400, "there are two lengths")
        headers[name] = value
    if "transfer-encoding" in headers:
        raise _RefusedError(411, "send a Content-Length; chunks are not taken")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or len(length) > 15:
        raise _RefusedError(400, "Content-Length is no number")
    wanted = headers.get("connection", "keep-alive" if version == "HTTP/1.1" else "close").lower()
    expects = headers.get("expect", "").lower() == "100-continue"
    return method, target, int(length), "close" not in wanted, expects
