"""Against a server that misbehaves: what comes is whole, and nothing half has a final name."""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from fetch_support import (
    NODE,
    Mirror,
    Trick,
    archive_bytes,
    body,
    chunked,
    no_answer,
    no_ranges,
    reset,
    serving,
    short_body,
    stall,
    status,
)

from tracekit.errors import TracekitError
from tracekit.fetch import FetchSummary, Retries, fetch
from tracekit.fetch.ledger import alone
from tracekit.fetch.part import Part

Take = Callable[..., FetchSummary]


@pytest.fixture
def take(mirror: Mirror, tmp_path: Path, retries: Retries) -> Take:
    """Fetch the Node archive from the mirror."""

    def fetched(**options: object) -> FetchSummary:
        defaults = {"tables": ["node"], "base_url": mirror.base_url, "retries": retries}
        return fetch("ctm21", tmp_path / "out", **{**defaults, **options})  # type: ignore[arg-type]

    return fetched


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "out" / NODE


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


def test_content_that_changes_between_tries_is_started_over(
    take: Take, mirror: Mirror, target: Path
) -> None:
    other = archive_bytes(650_000, seed=5)

    def then_change(handler: object, content: bytes) -> None:
        short_body(300_000)(handler, content)  # type: ignore[arg-type]
        mirror.files[NODE] = other

    mirror.tricks[NODE] = [then_change]
    take()
    assert target.read_bytes() == other
    assert mirror.ranges(NODE) == [None, "bytes=300000-"]


def test_content_that_changes_under_a_server_without_tags_is_noticed(
    take: Take, mirror: Mirror, target: Path
) -> None:
    other = archive_bytes(650_000, seed=5)
    mirror.etags[NODE] = None

    def then_change(handler: object, content: bytes) -> None:
        short_body(300_000)(handler, content)  # type: ignore[arg-type]
        mirror.files[NODE] = other

    mirror.tricks[NODE] = [then_change]
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

    def then_change(handler: object, content: bytes) -> None:
        short_body(300_000)(handler, content)  # type: ignore[arg-type]
        mirror.files[NODE] = other

    mirror.tricks[NODE] = [then_change]
    take()
    assert target.read_bytes() == other


def test_a_weak_tag_is_no_promise_of_the_same_bytes(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    mirror.etags[NODE] = 'W/"1"'
    mirror.tricks[NODE] = [short_body(300_000)]
    take()
    assert target.read_bytes() == node


GIVEN_UP: list[tuple[str, Trick, int, str]] = [
    ("403", status(403), 2, r"HTTP 403 Forbidden: http://.*/node/Node_0.tar.gz"),
    ("404", status(404), 2, r"HTTP 404 Not Found: http://.*/node/Node_0.tar.gz"),
    ("503", status(503), 8, r"HTTP 503 Service Unavailable"),
    ("always cut", short_body(300_000), 8, r"the line broke after 300,000 of 7\d\d,\d{3} bytes"),
    ("never an answer", no_answer(), 8, r"the line to 127.0.0.1:\d+ broke"),
    ("damaged there", body(b"\x1f\x8b\x08" + b"x" * 500), 2, r"twice the same, so it is damaged"),
    ("an error page", body(b"<html>"), 2, r"is no gzip archive; it starts with b'<html>'"),
    ("empty", body(b""), 2, r"is no gzip archive, it is empty"),
]


@pytest.mark.parametrize(
    ("_name", "trick", "tries", "message"), GIVEN_UP, ids=[case[0] for case in GIVEN_UP]
)
def test_what_does_not_pass_is_one_clear_error(
    take: Take,
    mirror: Mirror,
    target: Path,
    node: bytes,
    *,
    _name: str,
    trick: Trick,
    tries: int,
    message: str,
) -> None:
    mirror.tricks[NODE] = [trick] * tries
    with pytest.raises(TracekitError, match=message) as caught:
        take()
    assert caught.value.hint
    assert "\n" not in caught.value.what
    assert not target.exists()
    assert len(mirror.ranges(NODE)) == tries
    # the mirror is mended, and the same command goes on
    (file,) = take().files
    assert target.read_bytes() == node
    assert file.outcome == ("resumed" if "cut" in _name else "fetched")


def test_a_killed_fetch_is_resumed_by_the_next(
    take: Take, mirror: Mirror, target: Path, node: bytes, retries: Retries
) -> None:
    mirror.tricks[NODE] = [short_body(500_000)]
    with pytest.raises(TracekitError, match="the line broke"):
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


def test_several_files_at_a_time(tmp_path: Path, retries: Retries) -> None:
    files = {
        f"MSResource/MSResource_{part}.tar.gz": archive_bytes(200_000, seed=part)
        for part in range(4)
    }
    with serving(files) as mirror:
        for number, path in enumerate(files):
            mirror.tricks[path] = [short_body(50_000 * (1 + number))]
        summary = fetch(
            "ctm21",
            tmp_path,
            tables=["resource"],
            parts="0-3",
            base_url=mirror.base_url,
            jobs=3,
            retries=retries,
        )
    assert [file.path for file in summary.files] == list(files)
    assert {path: (tmp_path / path).read_bytes() for path in files} == files


def test_a_missing_file_does_not_keep_the_others(tmp_path: Path, retries: Retries) -> None:
    files = {
        f"MSResource/MSResource_{part}.tar.gz": archive_bytes(20_000, seed=part)
        for part in (0, 2, 3)
    }
    with serving(files) as mirror, pytest.raises(TracekitError) as caught:
        fetch(
            "ctm21",
            tmp_path,
            tables=["resource"],
            parts="0-4",
            base_url=mirror.base_url,
            jobs=2,
            retries=retries,
        )
    assert caught.value.what.startswith("2 files could not be fetched; 3 files are complete")
    assert "MSResource_1.tar.gz" in caught.value.what or "MSResource_4" in caught.value.what
    assert {path: (tmp_path / path).read_bytes() for path in files} == files


def test_a_host_that_does_not_exist_stops_everything_at_once(
    tmp_path: Path, naps: list[float], retries: Retries, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def nowhere(host: str, *_args: object, **_options: object) -> None:
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(TracekitError, match=r"no host named 'mirror.invalid' was found") as caught:
        fetch("ctm21", tmp_path, base_url="http://mirror.invalid/", jobs=1, retries=retries)
    assert "check the network" in (caught.value.hint or "")
    assert (len(asked), len(naps)) == (2, 1)


def test_a_port_without_a_server(tmp_path: Path, retries: Retries) -> None:
    with serving({}) as mirror:
        address = mirror.base_url
    with pytest.raises(TracekitError, match=r"127.0.0.1:\d+ refuses connections"):
        fetch("ctm21", tmp_path, tables=["node"], base_url=address, retries=retries)


def test_no_room_on_the_disk_is_said_before_anything_is_written(
    take: Take, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(TracekitError, match=r"no room for Node_0.tar.gz: 7\d\d.\d kB are still"):
        take()
    assert not target.exists()


def test_a_folder_that_cannot_be_made(take: Take, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(TracekitError, match=r"cannot write: File exists at .*out"):
        take()


def test_a_second_fetch_into_the_folder_is_told_who_is_at_it(take: Take, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with alone(tmp_path / "out"), pytest.raises(TracekitError, match=r"filled by process \d+"):
        take()
    take()


def test_a_bug_in_a_thread_comes_to_the_caller(take: Take, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Part, "finish", broken)
    with pytest.raises(ZeroDivisionError):
        take()


def test_the_same_seed_gives_the_same_waits(
    take: Take, mirror: Mirror, target: Path, naps: list[float]
) -> None:
    runs = []
    for seed in (3, 3, 4):
        mirror.tricks[NODE] = [status(503)] * 4
        take(seed=seed)
        runs.append(naps.copy())
        naps.clear()
        target.unlink()
    assert runs[0] == runs[1] != runs[2]
