"""Bytes are on the disk before names; a sync that fails leaves the earlier name as it was."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tracekit.base.files.durable import make_folder, put
from tracekit.base.files.replacing import replaced_file, replaced_folder


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
