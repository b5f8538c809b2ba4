"""A folder or file that is replaced: killed at any moment, the old one or the new one is there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tracekit.base.errors import TracekitError
from tracekit.base.files import replacing
from tracekit.base.files.replacing import put_back, replaced_file, replaced_folder

#: Writes a result folder over an earlier one, killed before its n-th call of the system, for every
#: n; prints how many there were. No thread is running: a fork is a whole copy.
KILLED = """
import os, shutil, sys
from pathlib import Path
from tracekit.base.files import replacing
from tracekit.base.files.result_folder import ResultFolder

KIND = ResultFolder(what="harvest", schema="tests/harvest/1")
root, out = Path(sys.argv[1]), Path(sys.argv[1]) / "out"
if sys.argv[2] == "aside":
    replacing._exchanged = lambda one, other: False

def write(pears):
    def more(made):
        for name in ("a", "b"):
            (made / name).write_text(str(pears))
    KIND.write(out, {"schema": KIND.schema, "pears": pears}, {}, more=more)

def killing(at):
    calls = 0
    def hook(event, arguments):
        nonlocal calls
        if event == "open" or event.startswith(("os.", "shutil.")):
            calls += 1
            if calls == at:
                os._exit(137)
    return hook

seen, at = set(), 0
while True:
    at += 1
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    write(1)
    (out / "notes.txt").write_text("mine")
    (out / "more").mkdir()
    (out / "more" / "notes.txt").write_text("mine too")
    child = os.fork()
    if child == 0:
        sys.addaudithook(killing(at))
        write(2)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 137), code
    if sys.argv[2] == "exchange":
        assert (out / "manifest.json").exists(), f"neither at call {at}"
    assert KIND.holds(out), f"neither at call {at}"
    pears = KIND.read(out)["pears"]
    assert [(out / name).read_text() for name in ("a", "b")] == [str(pears)] * 2, at
    assert (out / "notes.txt").read_text() == "mine", at
    assert (out / "more" / "notes.txt").read_text() == "mine too", at
    seen.add(pears)
    write(3)
    assert [path.name for path in root.iterdir()] == ["out"], at
    assert (out / "notes.txt").read_text() == "mine", at
    if code == 0:
        break
assert seen == {1, 2}, seen
print(at - 1)
"""


@pytest.mark.parametrize("how", ["exchange", "aside"])
def test_killed_before_any_call_the_old_or_the_new_is_whole(tmp_path: Path, how: str) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "root"), how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("replaced", [replaced_folder, replaced_file])
def test_an_error_leaves_the_earlier_one(
    tmp_path: Path, replaced: Callable[[Path], AbstractContextManager[Path]]
) -> None:
    def write(text: str) -> None:
        with replaced(tmp_path / "out") as made:
            (made / "x" if made.is_dir() else made).write_text(text)
            assert text == "old"

    write("old")
    with pytest.raises(AssertionError):
        write("new")
    out = tmp_path / "out"
    assert (out / "x" if out.is_dir() else out).read_text() == "old"
    assert names(tmp_path) == ["out"]


def test_two_that_write_at_once_do_not_clear_each_other_away(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with replaced_folder(out) as first:
        (first / "x").write_text("1")
        with replaced_folder(out) as second:
            (second / "x").write_text("2")
        assert (out / "x").read_text() == "2"
    assert (out / "x").read_text() == "1"
    assert names(tmp_path) == ["out"]


def test_what_was_not_left_by_a_killed_process_stays(tmp_path: Path) -> None:
    for name in (".out.settings", ".out.12345678", "out.tracekit-x"):
        (tmp_path / name).touch()
    before = sorted(tmp_path.iterdir())
    with replaced_file(tmp_path / "out") as made:
        made.touch()
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "out"])


@pytest.mark.parametrize("exchange", [True, False])
def test_a_link_to_a_folder_stays_a_link(
    tmp_path: Path, exchange: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchange:
        monkeypatch.setattr(replacing, "_exchanged", lambda *_: False)
    (tmp_path / "disk" / "out").mkdir(parents=True)
    (tmp_path / "disk" / "out" / "x").touch()
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "out")
    with replaced_folder(tmp_path / "link") as made:
        (made / "y").touch()
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "disk" / "out") == ["y"]
    assert names(tmp_path / "disk") == ["out"]


def test_a_folder_put_aside_comes_back(tmp_path: Path) -> None:
    (tmp_path / ".out.tracekit-aside").mkdir()
    put_back(tmp_path / "out")
    put_back(tmp_path / "other")
    assert names(tmp_path) == ["out"]


def test_a_device_is_written_to_as_it_is() -> None:
    with replaced_file(Path("/dev/null")) as made:
        assert made == Path("/dev/null")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["out", "an out", "back\\slash"])
def test_a_mount_point_is_told_before_anything_is_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one of the same disk, as containers have them: the table of mounts alone tells."""
    folder = tmp_path / name
    folder.mkdir()
    shown = str(folder).replace("\\", "\\134").replace(" ", "\\040")
    table = tmp_path / "mountinfo"
    table.write_text(f"22 1 0:20 / / rw - ext4 a rw\n23 22 0:20 /x {shown} rw - ext4 a rw\n")
    monkeypatch.setattr(replacing, "_MOUNTS", table)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(TracekitError, match=re.escape(str(folder))), replaced_folder(folder):
        raise AssertionError("not reached")
    assert sorted(tmp_path.iterdir()) == before
    with replaced_folder(folder / "below") as made:
        (made / "a").write_text("1")
    assert (folder / "below" / "a").read_text() == "1"
