from __future__ import annotations

import itertools
import time
from email.message import Message

import numpy as np
import pytest

from tracekit.intake.fetch.http import FetchError, Reply, Retries

BROKEN = FetchError("the line broke")
REFUSED = FetchError("HTTP 403", passing=False)


def waits(seed: int, count: int = 12) -> list[float]:
    rng = np.random.default_rng(seed)
    return [Retries().wait_s(failed, BROKEN, rng) for failed in range(1, count + 1)]


def test_waits_double_up_to_the_longest_and_lose_at_most_the_jitter() -> None:
    doubled = [min(0.5 * 2**at, 60.0) for at in range(12)]
    assert doubled[-4:] == [60.0, 60.0, 60.0, 60.0] or doubled[-1] == 60.0
    for got, most in zip(waits(0), doubled, strict=True):
        assert most / 2 <= got <= most


@pytest.mark.parametrize(("asked", "expected"), [(7.0, 7.0), (1000.0, 60.0), (0.0, 0.25)])
def test_a_server_may_ask_for_a_longer_wait_but_not_for_ever(asked: float, expected: float) -> None:
    error = FetchError("HTTP 503", wait_s=asked)
    rng = np.random.default_rng(0)
    got = Retries(jitter=0.5).wait_s(1, error, rng)
    assert got == expected or (asked == 0.0 and 0.25 <= got <= 0.5)


def test_refusals_are_given_up_sooner() -> None:
    retries = Retries(tries=5, refused_tries=2)
    assert [retries.given_up(failed, BROKEN) for failed in range(1, 6)] == [False] * 4 + [True]
    assert [retries.given_up(failed, REFUSED) for failed in (1, 2)] == [False, True]
    assert Retries(tries=1).given_up(1, REFUSED)


class Dripping:
    """A server that sends a byte at a time, and never ends."""

    status = 200
    headers = Message()

    def read1(self, _count: int) -> bytes:
        time.sleep(0.03)
        return b"x"


def test_who_sends_next_to_nothing_is_given_up() -> None:
    reply = Reply(Dripping(), "http://slow/", timeout_s=1.0)  # type: ignore[arg-type]
    reads = iter(lambda: reply.read(100), b"")
    with pytest.raises(FetchError):
        for _ in itertools.islice(reads, 100):
            pass
