"""A mirror on this machine whose server can be told to misbehave, request by request."""

from __future__ import annotations

import gzip
import re
import socket
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from tracekit.intake.fetch import FetchSummary

NODE = "node/Node_0.tar.gz"

#: Answers one request in place of the mirror.
Trick = Callable[["_Handler", bytes], None]

#: Fetches the Node archive, with options of ``fetch``.
Take = Callable[..., FetchSummary]


@dataclass
class Mirror:
    """Files by path below the base URL; ``tricks`` are used up, one for each request of a path."""

    files: dict[str, bytes]
    base_url: str = ""
    tricks: dict[str, list[Trick]] = field(default_factory=lambda: defaultdict(list))
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    etags: dict[str, str | None] = field(default_factory=dict)

    def ranges(self, path: str) -> list[str | None]:
        """The Range header of each request of a path, in order."""
        return [wanted for name, wanted in self.requests if name == path]


class _Handler(BaseHTTPRequestHandler):
    """GET with ranges and If-Range, as a plain file server does it."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    @property
    def name(self) -> str:
        """The path asked for, below the base URL."""
        return self.path.removeprefix("/mirror/")

    def do_GET(self) -> None:
        mirror = self.server.mirror
        mirror.requests.append((self.name, self.headers.get("Range")))
        content = mirror.files.get(self.name)
        if content is None:
            self.refuse(404)
        elif mirror.tricks[self.name]:
            mirror.tricks[self.name].pop(0)(self, content)
        else:
            self.serve(content)

    @property
    def etag(self) -> str | None:
        """The tag of the content asked for."""
        content = self.server.mirror.files[self.name]
        return self.server.mirror.etags.get(self.name, f'"{hash(content)}"')

    def refuse(self, status: int, headers: Mapping[str, str] | None = None) -> None:
        """Answer with an error."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def begin(self, content: bytes) -> int:
        """Send the headers for what was asked; the place of the first byte to come."""
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        start = int(match[1]) if match and condition in {None, self.etag} else 0
        if start >= len(content) > 0:
            self.refuse(416, {"Content-Range": f"bytes */{len(content)}"})
            return len(content)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        if self.etag is not None:
            self.send_header("ETag", self.etag)
        self.end_headers()
        return start

    def serve(self, content: bytes, upto: int | None = None) -> None:
        """Answer properly, but for the bytes from ``upto`` on."""
        start = self.begin(content)
        self.wfile.write(content[start:upto])

    def hang_up(self) -> None:
        """Break the line, hard: the client gets a reset."""
        self.wfile.flush()
        self.close_connection = True
        self.connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00"
        )
        self.connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, mirror: Mirror) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mirror = mirror

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is none of the server's business."""


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Mirror]:
    """A running mirror of some files."""
    mirror = Mirror(files)
    server = _Server(mirror)
    mirror.base_url = f"http://127.0.0.1:{server.server_address[1]}/mirror/"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield mirror
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def archive_bytes(count_bytes: int, seed: int = 0) -> bytes:
    """A gzip file of about that size that does not compress further."""
    rng = np.random.default_rng(seed)
    return gzip.compress(rng.bytes(count_bytes), mtime=0)


def short_body(upto: int) -> Trick:
    """End the line in order, though bytes are missing."""

    def trick(handler: _Handler, content: bytes) -> None:
        handler.serve(content, upto)
        handler.close_connection = True

    return trick


def short_body_then(upto: int, other: bytes) -> Trick:
    """End the line in order, though bytes are missing, and hold other content from then on."""

    def trick(handler: _Handler, content: bytes) -> None:
        short_body(upto)(handler, content)
        handler.server.mirror.files[handler.name] = other

    return trick


def reset(upto: int) -> Trick:
    """Break the line in the middle of the body."""

    def trick(handler: _Handler, content: bytes) -> None:
        handler.serve(content, upto)
        handler.hang_up()

    return trick


def no_answer() -> Trick:
    """Break the line before any answer."""
    return lambda handler, _: handler.hang_up()


def status(code: int, headers: Mapping[str, str] | None = None) -> Trick:
    """Answer with an error."""
    return lambda handler, _: handler.refuse(code, headers)


def stall(upto: int, release: threading.Event) -> Trick:
    """Fall silent in the middle of the body."""

    def trick(handler: _Handler, content: bytes) -> None:
        handler.serve(content, upto)
        handler.wfile.flush()
        release.wait(20)
        handler.close_connection = True

    return trick


def no_ranges(upto: int | None = None) -> Trick:
    """Answer with the whole content whatever range was asked for."""

    def trick(handler: _Handler, content: bytes) -> None:
        del handler.headers["Range"]
        handler.serve(content, upto)
        if upto is not None:
            handler.close_connection = True

    return trick


def chunked(handler: _Handler, content: bytes) -> None:
    """Answer without saying how long the content is."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for at in range(0, len(content), 5000):
        piece = content[at : at + 5000]
        handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    handler.wfile.write(b"0\r\n\r\n")


def body(other: bytes) -> Trick:
    """Answer with other bytes than the mirror's, under the same tag."""
    return lambda handler, _: handler.serve(other)
