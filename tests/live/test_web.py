"""Slow, huge, malformed, half-closed and many clients: nothing hangs, no answer is wrong."""

import asyncio
import concurrent.futures
import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tracekit.live.web import Limits, Request, Response, Web


def _echo(request: Request) -> Response:
    if request.target == "/large":
        return Response(status=200, body=b"x" * (32 << 20))
    return Response(status=200, body=request.body or request.target.encode())


class _Running:
    """A server in a thread of its own."""

    def __init__(self, limits: Limits) -> None:
        self.web = Web(_echo, limits)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.port: int = self.run(self.web.start("127.0.0.1", 0, None))

    def run(self, made: object) -> int:
        results = asyncio.run_coroutine_threadsafe(made, self.loop).result(30)  # type: ignore[arg-type,var-annotated]
        return int(results or 0)

    def end(self) -> None:
        self.run(self.web.stop(1.0))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def ask(self, body: bytes) -> bytes:
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        ) as line:
            line.request("POST", "/echo", body)
            return line.getresponse().read()

    def raw(self, *pieces: bytes, pause_s: float = 0.0, half: bool = False) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as line:
            with contextlib.suppress(ConnectionError):
                for piece in pieces:
                    line.sendall(piece)
                    time.sleep(pause_s)
                if half:
                    line.shutdown(socket.SHUT_WR)
            text = b""
            with contextlib.suppress(ConnectionError):
                while chunk := line.recv(1 << 16):
                    text += chunk
            return text


@pytest.fixture
def running() -> Iterator[_Running]:
    made = _Running(
        Limits(body_bytes=1 << 20, together_bytes=8 << 20, request_s=0.6, idle_s=0.6, clients=1500)
    )
    try:
        yield made
        assert made.ask(b"still here") == b"still here"
        time.sleep(0.05)
        assert made.web.buffered_bytes == 0
    finally:
        made.end()


def _status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"GET http://x/ HTTP/1.1\r\n\r\n", 400),
        (b"G\xff / HTTP/1.1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1e3\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\n folded: 1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 9000, 431),
        (b"\x16\x03\x01\x02\x00\x01" + b"\0" * 40_000, 431),
    ],
)
def test_what_is_no_request_is_refused(running: _Running, sent: bytes, status: int) -> None:
    answer = running.raw(sent)
    assert _status(answer) == status
    assert "error" in json.loads(answer.partition(b"\r\n\r\n")[2])


def test_a_slow_client_is_cut_off_and_hinders_nobody(running: _Running) -> None:
    head = b"POST /echo HTTP/1.1\r\nContent-Length: 100\r\n\r\n"
    with concurrent.futures.ThreadPoolExecutor(20) as crowd:
        slow = [crowd.submit(running.raw, head, *([b"x"] * 20), pause_s=0.1) for _ in range(10)] + [
            crowd.submit(running.raw, b"GET / HT", pause_s=0.1) for _ in range(10)
        ]
        began = time.monotonic()
        assert running.ask(b"quick") == b"quick"
        assert time.monotonic() - began < 5
        assert [one.result() for one in slow] == [b""] * 20


def test_half_closed_clients_get_their_answers_and_cut_ones_none(running: _Running) -> None:
    whole = b"POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
    assert running.raw(whole, half=True).endswith(b"hello")
    assert running.raw(whole[:-1], half=True) == b""
    assert running.raw(half=True) == b""


def test_requests_one_behind_the_other_on_one_line(running: _Running) -> None:
    one = b"POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n%02d"
    last = b"GET /end HTTP/1.1\r\nConnection: close\r\n\r\n"
    sent = b"".join(one % at for at in range(50)) + last
    answer = running.raw(sent[:37], sent[37:], pause_s=0.05)
    bodies = [part[:2] for part in answer.split(b"\r\n\r\n")[1:-1]]
    assert bodies == [b"%02d" % at for at in range(50)]
    assert answer.endswith(b"/end")


def test_whoever_does_not_take_the_answer_is_cut_off(running: _Running) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.sendall(b"GET /large HTTP/1.1\r\n\r\n" * 3)
        end = time.monotonic() + 15
        while running.web.clients and time.monotonic() < end:
            time.sleep(0.05)
        assert not running.web.clients


def test_a_client_that_waits_for_continue_is_told_so(running: _Running) -> None:
    head = b"POST /a HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n"
    head += b"Connection: close\r\n\r\n"
    answer = running.raw(head, b"hello", pause_s=0.1)
    assert answer.startswith(b"HTTP/1.1 100 ")
    assert answer.endswith(b"hello")


def test_bodies_of_all_together_have_a_limit() -> None:
    made = _Running(Limits(body_bytes=1 << 20, together_bytes=1 << 20, request_s=1.0))
    try:
        head = b"POST /a HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"
        lines = [socket.create_connection(("127.0.0.1", made.port), timeout=20) for _ in range(3)]
        for line in lines:
            line.sendall(head + b"x" * 600_000)
        results = [line.recv(20) for line in lines[1:]]
        assert any(one and _status(one) == 503 for one in results)
        for line in lines:
            line.close()
    finally:
        made.end()


@pytest.mark.slow
def test_a_thousand_clients_at_once_get_their_own_answers(running: _Running) -> None:
    with concurrent.futures.ThreadPoolExecutor(1000) as crowd:
        bodies = [b"%d" % at * 100 for at in range(1000)]
        assert list(crowd.map(running.ask, bodies)) == bodies


def test_a_stop_lets_the_request_in_hand_end() -> None:
    made = _Running(Limits())
    with (
        socket.create_connection(("127.0.0.1", made.port), timeout=20) as busy,
        socket.create_connection(("127.0.0.1", made.port), timeout=20) as idle,
    ):
        busy.sendall(b"POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhel")
        time.sleep(0.2)
        ended = threading.Thread(target=made.end)
        ended.start()
        assert idle.recv(10) == b""
        busy.sendall(b"lo")
        answer = b""
        while chunk := busy.recv(1000):
            answer += chunk
        assert answer.endswith(b"hello")
        assert b"Connection: close" in answer
        ended.join(10)
        assert not ended.is_alive()
