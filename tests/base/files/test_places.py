"""Places, reading ahead, and syncs."""

from __future__ import annotations

import errno
import importlib.util
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracekit.base.errors import TracekitError
from tracekit.base.files.ahead import ahead
from tracekit.base.files.durable import make_folder, put
from tracekit.base.files.places import found_from, here, is_remote, named_from, place, store_error
from tracekit.base.files.replacing import replaced_file, replaced_folder

needs_upath = pytest.mark.skipif(
    importlib.util.find_spec("upath") is None or importlib.util.find_spec("s3fs") is None,
    reason="universal-pathlib and s3fs are not installed (pip install 'tracekit[s3]')",
)


@pytest.mark.parametrize(
    "path", ["store", "/data/store", "./s3", "C:/store", "a:b", "openb:DIR", "s3:", "s3://"]
)
def test_paths_are_paths(path: str) -> None:
    assert place(path) == Path(path)
    assert not is_remote(place(path))


@needs_upath
@pytest.mark.parametrize("given", ["s3://bucket/store", Path("s3://bucket/store")])
def test_urls_are_places_of_an_object_store(given: str | Path) -> None:
    present = place(given)
    assert is_remote(present)
    assert str(present) == "s3://bucket/store"
    assert place(present) is present
    assert str(present / "tables" / "part.parquet") == "s3://bucket/store/tables/part.parquet"


@needs_upath
@pytest.mark.parametrize("given", ["/data/store", "s3://bucket/store"])
def test_a_document_names_a_place_so_that_it_is_found_again(given: str, tmp_path: Path) -> None:
    named = named_from(tmp_path, place(given))
    assert str(found_from(tmp_path, named).resolve()) == given


@needs_upath
@pytest.mark.parametrize("given", ["s3://bucket/out", Path("s3://bucket/out")])
def test_a_result_has_no_url(given: str | Path) -> None:
    with pytest.raises(TracekitError, match="s3://bucket/out"):
        here(given)
    assert here("out") == Path("out")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError("The specified bucket does not exist"), True),
        (PermissionError("Access Denied"), True),
        (ConnectionError("object-store error: Generic S3 error: HTTP error"), True),
        (PermissionError(13, "Permission denied", "/store"), False),
        (FileNotFoundError(2, "No such file or directory", "/store"), False),
        (ValueError("wrong"), False),
    ],
)
def test_errors_of_the_libraries_are_recognised(error: Exception, *, expected: bool) -> None:
    result = store_error(error)
    assert (result is not None) is expected
    assert result is None or (str(error) in result.what and result.hint)


def test_what_caused_an_error_is_looked_at_too() -> None:
    outer = RuntimeError("could not read")
    outer.__cause__ = OSError("NoSuchBucket")
    assert store_error(outer) is not None


def test_items_come_in_order() -> None:
    assert list(ahead(iter(range(100)))) == list(range(100))


def test_what_the_source_raises_is_raised_after_the_items_before_it() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise EOFError("cut")

    items = ahead(failing())
    assert next(items) == 1
    with pytest.raises(EOFError, match="cut"):
        next(items)


def test_leaving_early_stops_the_thread() -> None:
    before = threading.active_count()
    made = []

    def endless() -> Iterator[int]:
        for number in range(1_000_000):
            made.append(number)
            yield number

    reader = ahead(endless())
    assert next(reader) == 0
    reader.close()
    assert threading.active_count() == before
    assert len(made) < 20


class Disk:
    """Notes the syncs; fails at those of a name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[str] = []
        self.failing = ""
        self._real = os.fsync
        monkeypatch.setattr(os, "fsync", self._sync)

    def _sync(self, handle: int) -> None:
        self._real(handle)
        path = Path(f"/proc/self/fd/{handle}").readlink()
        self.synced.append(path.name)
        if self.failing and path.name.startswith(self.failing):
            raise OSError(errno.EIO, "Input/output error")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_files_come_first_and_every_folder_after(tmp_path: Path, disk: Disk) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    root = tmp_path / "store"
    root.mkdir()
    put({tmp_path / name: root / "tables" / name / "part" for name in ("one", "two")}, root)
    assert (root / "tables" / "two" / "part").read_text() == "two"
    assert sorted(disk.synced[:2]) == ["one", "two"]
    assert sorted(disk.synced[2:]) == ["one", "store", "tables", "two"]


def test_what_cannot_be_synced_gets_no_name(tmp_path: Path, disk: Disk) -> None:
    (tmp_path / "file").write_text("earlier")
    (tmp_path / "folder").mkdir()
    disk.failing = ".f"
    with pytest.raises(OSError, match="Input/output"), replaced_file(tmp_path / "file") as made:
        made.write_text("later")
    with pytest.raises(OSError, match="Input/output"), replaced_folder(tmp_path / "folder") as new:
        (new / "one").write_text("later")
    assert (tmp_path / "file").read_text() == "earlier"
    assert list((tmp_path / "folder").iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_the_folder_above_each_new_one_is_synced(tmp_path: Path, disk: Disk) -> None:
    make_folder(tmp_path / "a" / "b")
    assert sorted(disk.synced) == sorted([tmp_path.name, "a"])
