"""One archive from a server that misbehaves: what passes is mended, the rest is one clear error."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from pathlib import Path

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
from tracekit.intake.fetch import Retries, download


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


def test_content_that_changes_between_tries_is_started_over(
    take: Take, mirror: Mirror, target: Path
) -> None:
    other = archive_bytes(650_000, seed=5)
    mirror.tricks[NODE] = [short_body_then(300_000, other)]
    take()
    assert target.read_bytes() == other
    assert mirror.ranges(NODE) == [None, "bytes=300000-"]


def test_content_that_changes_under_a_server_without_tags_is_noticed(
    take: Take, mirror: Mirror, target: Path
) -> None:
    other = archive_bytes(650_000, seed=5)
    mirror.etags[NODE] = None
    mirror.tricks[NODE] = [short_body_then(300_000, other)]
    take()
    assert target.read_bytes() == other
    # the second answer gives another length away; the third request begins anew
    assert mirror.ranges(NODE) == [None, "bytes=300000-", None]


def test_content_of_the_same_length_that_changed_untold_is_found_by_its_checksum(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    other = archive_bytes(700_000, seed=5)[: len(node)].ljust(len(node), b"\0")
    mirror.etags[NODE] = None
    mirror.tricks[NODE] = [lambda h, _: short_body(300_000)(h, other)]
    take()
    assert target.read_bytes() == node
    assert mirror.ranges(NODE) == [None, "bytes=300000-", None]


def test_a_file_that_became_shorter_than_what_is_here(
    take: Take, mirror: Mirror, target: Path
) -> None:
    other = archive_bytes(1000, seed=5)
    mirror.etags[NODE] = None
    mirror.tricks[NODE] = [short_body_then(300_000, other)]
    take()
    assert target.read_bytes() == other


def test_a_weak_tag_is_no_promise_of_the_same_bytes(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    mirror.etags[NODE] = 'W/"1"'
    mirror.tricks[NODE] = [short_body(300_000)]
    take()
    assert target.read_bytes() == node
