"""A fetch as a whole: several files, what stops it, and who else is at the folder."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest
from fetch_support import Mirror, Take, archive_bytes, serving, short_body

from tracekit.base.errors import TracekitError
from tracekit.base.files.durable import held
from tracekit.commands.fetch import fetch
from tracekit.intake.fetch import FetchSummary, Retries
from tracekit.intake.fetch.download import LOCK, Part


def archives(parts: Iterable[int], count_bytes: int) -> dict[str, bytes]:
    """Archives of the resource table by path, each with other content."""
    return {
        f"MSResource/MSResource_{part}.tar.gz": archive_bytes(count_bytes, seed=part)
        for part in parts
    }


def fetched(
    mirror: Mirror, folder: Path, *, parts: str, jobs: int, retries: Retries
) -> FetchSummary:
    """Fetch parts of the resource table from the mirror."""
    return fetch(
        "ctm21",
        folder,
        tables=["resource"],
        parts=parts,
        base_url=mirror.base_url,
        jobs=jobs,
        retries=retries,
    )


def test_several_files_at_a_time(tmp_path: Path, retries: Retries) -> None:
    files = archives(range(4), 200_000)
    with serving(files) as mirror:
        for number, path in enumerate(files):
            mirror.tricks[path] = [short_body(50_000 * (1 + number))]
        summary = fetched(mirror, tmp_path, parts="0-3", jobs=3, retries=retries)
    assert [file.path for file in summary.files] == list(files)
    assert {path: (tmp_path / path).read_bytes() for path in files} == files


def test_a_missing_file_does_not_keep_the_others(tmp_path: Path, retries: Retries) -> None:
    files = archives([0, 2, 3], 20_000)
    with serving(files) as mirror, pytest.raises(TracekitError):
        fetched(mirror, tmp_path, parts="0-4", jobs=2, retries=retries)
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
    with pytest.raises(TracekitError):
        fetch("ctm21", tmp_path, base_url="http://mirror.invalid/", jobs=1, retries=retries)
    assert (len(asked), len(naps)) == (2, 1)


def test_no_room_on_the_disk_is_said_before_anything_is_written(
    take: Take, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(TracekitError):
        take()
    assert not target.exists()


def test_a_second_fetch_into_the_folder_is_told_who_is_at_it(take: Take, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with (
        held(tmp_path / "out" / LOCK, busy="it is being filled"),
        pytest.raises(TracekitError),
    ):
        take()
    take()


def test_a_bug_in_a_thread_comes_to_the_caller(take: Take, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Part, "finish", broken)
    with pytest.raises(ZeroDivisionError):
        take()
