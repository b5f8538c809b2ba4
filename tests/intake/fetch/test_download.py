"""One archive from a server that misbehaves: what passes is mended, the rest is one clear error."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import threading
import time
from email.message import Message
from pathlib import Path

import numpy as np
import pytest
from fetch_support import (
    NODE,
    Mirror,
    Take,
    Trick,
    archive_bytes,
    body,
    chunked,
    no_answer,
    no_ranges,
    reset,
    short_body,
    short_body_then,
    stall,
    status,
)

from tracekit.base.errors import TracekitError
from tracekit.intake.fetch import download
from tracekit.intake.fetch.http import FetchError, Reply, Retries


def visible(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


def test_an_archive_comes_whole_and_is_described(
    take: Take, mirror: Mirror, target: Path, node: bytes, tmp_path: Path
) -> None:
    (file,) = take().files
    assert target.read_bytes() == node
    assert (file.path, file.table, file.part, file.outcome, file.tries) == (
        NODE,
        "node_usage",
        0,
        "fetched",
        1,
    )
    assert (file.size_bytes, file.sha256) == (len(node), hashlib.sha256(node).hexdigest())
    assert file.url == mirror.base_url + NODE
    assert visible(tmp_path / "out") == [".fetch.json", NODE]


def test_the_size_is_that_of_the_archive_where_its_description_cannot_be_read(
    take: Take, node: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> str:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(download, "read_text", refused)
    (file,) = take().files
    assert (file.outcome, file.size_bytes) == ("fetched", len(node))


MENDED: list[tuple[str, list[Trick], list[str | None]]] = [
    ("short body", [short_body(300_000)], [None, "bytes=300000-"]),
    (
        "three cuts",
        [short_body(100_000), short_body(200_000), short_body(650_000)],
        [None, "bytes=100000-", "bytes=200000-", "bytes=650000-"],
    ),
    ("no answer", [no_answer(), no_answer()], [None, None, None]),
    ("503 first", [status(503), status(500)], [None, None, None]),
    ("429 in between", [short_body(300_000), status(429)], [None, *["bytes=300000-"] * 2]),
    ("403 once", [status(403)], [None, None]),
    ("404 once", [status(404)], [None, None]),
    ("ranges ignored", [short_body(300_000), no_ranges()], [None, "bytes=300000-"]),
    (
        "ranges ignored and cut further on",
        [no_ranges(300_000), no_ranges(500_000), no_ranges()],
        [None, "bytes=300000-", "bytes=500000-"],
    ),
    ("length unknown", [chunked], [None]),
]


@pytest.mark.parametrize(("_name", "tricks", "ranges"), MENDED, ids=[case[0] for case in MENDED])
def test_what_passes_is_mended(
    take: Take,
    mirror: Mirror,
    target: Path,
    node: bytes,
    naps: list[float],
    *,
    _name: str,
    tricks: list[Trick],
    ranges: list[str | None],
) -> None:
    mirror.tricks[NODE] = list(tricks)
    (file,) = take().files
    assert target.read_bytes() == node
    assert mirror.ranges(NODE) == ranges
    assert file.tries == len(ranges)
    assert len(naps) == len(ranges) - 1


def test_a_reset_line_goes_on_with_what_had_come(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    mirror.tricks[NODE] = [reset(400_000)]
    take()
    assert target.read_bytes() == node
    # a reset may swallow what was on its way, so only the order of things is sure
    assert len(mirror.ranges(NODE)) == 2


def test_a_silent_server_is_left_and_asked_again(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    release = threading.Event()
    mirror.tricks[NODE] = [stall(300_000, release)]
    take(timeout_s=0.3)
    release.set()
    assert target.read_bytes() == node
    assert mirror.ranges(NODE) == [None, "bytes=300000-"]


def test_progress_starts_the_count_of_tries_again(
    take: Take, mirror: Mirror, target: Path, node: bytes, naps: list[float]
) -> None:
    mirror.tricks[NODE] = [short_body(upto) for upto in range(20_000, 600_000, 30_000)]
    take()
    assert target.read_bytes() == node
    assert len(naps) == 20 > Retries().tries
    assert max(naps) <= Retries().first_wait_s


GIVEN_UP: list[tuple[str, Trick, int]] = [
    ("403", status(403), 2),
    ("404", status(404), 2),
    ("503", status(503), 8),
    ("always cut", short_body(300_000), 8),
    ("never an answer", no_answer(), 8),
    ("damaged there", body(b"\x1f\x8b\x08" + b"x" * 500), 2),
    ("an error page", body(b"<html>"), 2),
    ("empty", body(b""), 2),
]


@pytest.mark.parametrize(("_name", "trick", "tries"), GIVEN_UP, ids=[case[0] for case in GIVEN_UP])
def test_what_does_not_pass_is_one_clear_error(
    take: Take,
    mirror: Mirror,
    target: Path,
    node: bytes,
    *,
    _name: str,
    trick: Trick,
    tries: int,
) -> None:
    mirror.tricks[NODE] = [trick] * tries
    with pytest.raises(TracekitError):
        take()
    assert not target.exists()
    assert len(mirror.ranges(NODE)) == tries
    # the mirror is mended, and the same command goes on
    (file,) = take().files
    assert target.read_bytes() == node
    assert file.outcome == ("resumed" if "cut" in _name else "fetched")


# An archive that changes on the server between two tries: no file is made up of both.


LONGER, SHORTER = archive_bytes(650_000, seed=5), archive_bytes(1000, seed=5)
AGAIN = [None, "bytes=300000-"]
#: The tags of the server, the content after the first try, and the ranges of all requests. Without
#: tags another length gives the change away, and a third request begins anew.
CHANGED: list[tuple[dict[str, str | None], bytes, list[str | None]]] = [
    ({}, LONGER, AGAIN),
    ({NODE: None}, LONGER, [*AGAIN, None]),
    ({NODE: None}, SHORTER, [*AGAIN, None]),
]


@pytest.mark.parametrize(("tags", "content", "ranges"), CHANGED, ids=["tags", "longer", "shorter"])
def test_content_that_changes_between_tries_is_started_over(
    take: Take,
    mirror: Mirror,
    target: Path,
    *,
    tags: dict[str, str | None],
    content: bytes,
    ranges: list[str | None],
) -> None:
    mirror.etags.update(tags)
    mirror.tricks[NODE] = [short_body_then(300_000, content)]
    take()
    assert target.read_bytes() == content
    assert mirror.ranges(NODE) == ranges


def test_content_of_the_same_length_that_changed_untold_is_found_by_its_checksum(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    other = archive_bytes(700_000, seed=5)[: len(node)].ljust(len(node), b"\0")
    mirror.etags[NODE] = None
    mirror.tricks[NODE] = [lambda h, _: short_body(300_000)(h, other)]
    take()
    assert target.read_bytes() == node
    assert mirror.ranges(NODE) == [None, "bytes=300000-", None]


def test_a_weak_tag_is_no_promise_of_the_same_bytes(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    mirror.etags[NODE] = 'W/"1"'
    mirror.tricks[NODE] = [short_body(300_000)]
    take()
    assert target.read_bytes() == node


# What an earlier fetch or somebody else left in the folder is built upon if it is sound.


def test_a_killed_fetch_is_resumed_by_the_next(
    take: Take, mirror: Mirror, target: Path, node: bytes, retries: Retries
) -> None:
    mirror.tricks[NODE] = [short_body(500_000)]
    with pytest.raises(TracekitError):
        take(retries=Retries(tries=1))
    part = target.with_name(f".{target.name}.part")
    assert part.read_bytes() == node[:500_000]
    # a kill may leave any length behind
    part.write_bytes(node[:123_456])
    (file,) = take(retries=retries).files
    assert (file.outcome, file.tries) == ("resumed", 1)
    assert mirror.ranges(NODE)[-1] == "bytes=123456-"
    assert target.read_bytes() == node


def test_a_fetch_killed_before_the_renaming_asks_for_nothing(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    take()
    remote = {"length": len(node), "etag": None, "modified": None}
    target.rename(target.with_name(f".{target.name}.part"))
    target.with_name(f".{target.name}.part.json").write_text(json.dumps(remote))
    mirror.requests.clear()
    take()
    assert mirror.requests == []
    assert target.read_bytes() == node


def test_bytes_of_unknown_origin_are_not_built_upon(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    target.parent.mkdir(parents=True)
    target.with_name(f".{target.name}.part").write_bytes(b"x" * 1000)
    take()
    assert mirror.ranges(NODE) == [None]
    assert target.read_bytes() == node


def test_what_is_there_is_not_fetched_again(take: Take, mirror: Mirror) -> None:
    first = take().files[0]
    mirror.requests.clear()
    (file,) = take().files
    assert mirror.requests == []
    assert (file.outcome, file.tries, file.sha256) == ("known", 0, first.sha256)


def test_what_a_call_could_not_clear_away_goes_with_the_next(take: Take, target: Path) -> None:
    take()
    left = target.with_name(f".{target.name}.part.json")
    left.write_text("{}")
    take()
    assert not left.exists()


def test_an_archive_from_elsewhere_is_taken_if_it_is_whole(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    target.parent.mkdir(parents=True)
    target.write_bytes(node)
    assert take().files[0].outcome == "known"
    target.write_bytes(node[:-9])
    assert take().files[0].outcome == "fetched"
    assert target.read_bytes() == node
    assert mirror.ranges(NODE) == [None]


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


@pytest.mark.parametrize(("wanted_s", "expected"), [(7.0, 7.0), (1000.0, 60.0), (0.0, 0.25)])
def test_a_server_may_ask_for_a_longer_wait_but_not_for_ever(
    wanted_s: float, expected: float
) -> None:
    error = FetchError("HTTP 503", wait_s=wanted_s)
    rng = np.random.default_rng(0)
    got = Retries(jitter=0.5).wait_s(1, error, rng)
    assert got == expected or (wanted_s == 0.0 and 0.25 <= got <= 0.5)


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
