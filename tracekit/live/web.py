"""An HTTP/1.1 server in one thread, with limits on the time and memory of each client.

A request has a Content-Length, or no body. A slow, huge or malformed request is refused or cut off,
and no other client waits for it.
"""

import asyncio
import contextlib
import json
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

#: The longest first line and headers together.
_HEAD_BYTES = 32 << 10
#: How long the rest of a refused request is read and dropped.
_LINGER_S = 2.0
_JSON = "application/json"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits on memory, time and connections of a server.

    Parameters
    ----------
    body_bytes : int
        The longest body.
    together_bytes : int
        The most bytes of incoming bodies of all clients together.
    request_s : float
        The longest time for a request to come in, and for a response to go out.
    idle_s : float
        The longest time of a connection without a request.
    clients : int
        The most connections at a time.
    """

    body_bytes: int = 64 << 20
    together_bytes: int = 256 << 20
    request_s: float = 10.0
    idle_s: float = 120.0
    clients: int = 4096


@dataclass(frozen=True, kw_only=True)
class Request:
    """An HTTP request. ``target`` is the path with its query."""

    method: str
    target: str
    body: bytes


@dataclass(frozen=True, kw_only=True)
class Response:
    """An HTTP response of content type ``kind``. ``then`` is called once it is sent."""

    status: int
    body: bytes
    kind: str = _JSON
    then: Callable[[], None] = lambda: None


@dataclass(frozen=True, kw_only=True)
class _Head:
    """The head of a request; ``expects``: the client waits for 100 Continue."""

    method: str
    target: str
    length: int
    keep: bool
    expects: bool


def refusal(status: int, why: str) -> Response:
    """Return an error response with a JSON body that states the reason."""
    return Response(status=status, body=json.dumps({"error": why}).encode() + b"\n")


class _RefusedError(Exception):
    """A request that gets an error response and ends its connection."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Web:
    """A listening HTTP/1.1 server that enforces ``limits``.

    Parameters
    ----------
    handle : callable
        Returns the response to a request, without waiting.
    """

    def __init__(self, handle: Callable[[Request], Response], limits: Limits) -> None:
        self.handle, self.limits = handle, limits
        self.clients: set[asyncio.Task[None]] = set()
        self.buffered_bytes = 0
        self.stopping = False
        self._idle: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Start to listen, and return the port. Port 0 takes a free one."""
        waits: dict[str, Any] = {"ssl_handshake_timeout": self.limits.request_s} if tls else {}
        self._server = await asyncio.start_server(
            self._client, host, port, ssl=tls, backlog=2048, limit=_HEAD_BYTES, **waits
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self, grace_s: float) -> None:
        """Accept no more connections. Requests in progress have ``grace_s`` to finish."""
        self.stopping = True
        if self._server is not None:
            self._server.close()
        for one in self._idle:
            one.cancel()
        if self.clients:
            _, late = await asyncio.wait(self.clients, timeout=grace_s)
            for one in late:
                one.cancel()

    async def _client(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Serve one connection, request by request."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - this runs in one
        if len(self.clients) >= self.limits.clients:
            _send(writer, refusal(503, "too many connections"), keep=False)
            writer.close()
            return
        self.clients.add(task)
        try:
            while await self._request(task, reader, writer):
                pass
            writer.close()
            async with asyncio.timeout(self.limits.request_s):
                await writer.wait_closed()
        except _RefusedError as error:
            await self._refuse(reader, writer, error)
        except (TimeoutError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.clients.discard(task)
            writer.transport.abort()

    async def _request(
        self, task: asyncio.Task[None], reader: StreamReader, writer: StreamWriter
    ) -> bool:
        """Read and answer one request; whether another one may follow."""
        self._idle.add(task)
        try:
            async with asyncio.timeout(self.limits.idle_s):
                first = await reader.read(1)
        finally:
            self._idle.discard(task)
        async with asyncio.timeout(self.limits.request_s):
            text = await _read_head(first, reader)
            head = None if text is None else _parsed(text)
            body = None if head is None else await self._body(head, reader, writer)
        if head is None or body is None:
            return False
        answer = self.handle(Request(method=head.method, target=head.target, body=body))
        keep = head.keep and not self.stopping
        _send(writer, answer, keep=keep, with_body=head.method != "HEAD")
        answer.then()
        async with asyncio.timeout(self.limits.request_s):
            await writer.drain()
        return keep

    async def _body(self, head: _Head, reader: StreamReader, writer: StreamWriter) -> bytes | None:
        """The body of a request; None if the client left before its end."""
        most = self.limits.body_bytes
        if head.length > most:
            raise _RefusedError(413, f"the body has {head.length} bytes, at most {most} are taken")
        if head.expects:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        pieces, left = [], head.length
        try:
            while left:
                piece = await reader.read(left)
                if not piece:
                    return None
                pieces.append(piece)
                left -= len(piece)
                self.buffered_bytes += len(piece)
                if left and self.buffered_bytes > self.limits.together_bytes:
                    raise _RefusedError(503, "too many requests are coming in")
        finally:
            self.buffered_bytes -= head.length - left
        return b"".join(pieces)

    async def _refuse(
        self, reader: StreamReader, writer: StreamWriter, error: _RefusedError
    ) -> None:
        """Send an error response, and drop the rest of the request so that it arrives."""
        _send(writer, refusal(error.status, str(error)), keep=False)
        with contextlib.suppress(TimeoutError, ConnectionError, NotImplementedError):
            async with asyncio.timeout(min(self.limits.request_s, _LINGER_S)):
                writer.write_eof()
                while await reader.read(_HEAD_BYTES):
                    pass


def _send(writer: StreamWriter, answer: Response, *, keep: bool, with_body: bool = True) -> None:
    reason = HTTPStatus(answer.status).phrase
    head = (
        f"HTTP/1.1 {answer.status} {reason}\r\nContent-Type: {answer.kind}\r\n"
        f"Content-Length: {len(answer.body)}\r\n"
        f"Connection: {'keep-alive' if keep else 'close'}\r\n\r\n"
    ).encode()
    writer.write(head + answer.body if with_body else head)


async def _read_head(first: bytes, reader: StreamReader) -> bytes | None:
    """The head of a request after its first byte; None if the client left before its end."""
    head = b""
    try:
        while (line := first + await reader.readline()) != b"\r\n":
            if not line.endswith(b"\n"):
                return None
            head, first = head + line, b""
            if len(head) > _HEAD_BYTES:
                break
        else:
            return head
    except ValueError:  # a line is longer than the limit
        pass
    raise _RefusedError(431, "the headers are too long")


def _parsed(head: bytes) -> _Head:
    """Parse the head of a request.

    Raises _RefusedError for a malformed head, and for a body without a Content-Length.
    """
    try:
        first, *lines = head.decode("latin-1").removesuffix("\r\n").split("\r\n")
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
    return _Head(
        method=method,
        target=target,
        length=int(length),
        keep="close" not in wanted,
        expects=expects,
    )
