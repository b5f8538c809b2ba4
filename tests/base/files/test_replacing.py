"""Replacing of files and folders, links, and numbers of parts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from prometheus_support import Made, fetched, serving, some
from store_support import tiny_store

from tracekit.base.errors import TracekitError
from tracekit.base.files import replacing
from tracekit.base.files.replacing import parse_parts, put_back, replaced_file, replaced_folder
from tracekit.commands.shell import run
from tracekit.intake.fetch.kubernetes import packing
from tracekit.intake.fetch.prometheus_query import NAME
from tracekit.store.folder import _sealed, read_manifest

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


@pytest.mark.slow
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


CASES = [
    ("7", [7]),
    ("0-3", [0, 1, 2, 3]),
    (" 0 - 1 , 5", [0, 1, 5]),
    ("2,0-0,2", [0, 2]),
]


@pytest.mark.parametrize(("text", "numbers"), CASES)
def test_numbers_and_ranges(text: str, numbers: list[int]) -> None:
    parts = parse_parts(text)
    assert parts is not None
    assert [number for number in range(20) if number in parts] == numbers


@pytest.mark.parametrize("text", ["", "a", "3-1", "-1", "1,,2", "1;2", "0-", "1.5"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(TracekitError):
        parse_parts(text)


def test_none_stands_for_all_and_a_huge_range_is_not_counted_out() -> None:
    assert parse_parts(None) is None
    parts = parse_parts("0-99999999999")
    assert parts is not None
    assert 12_345_678_901 in parts


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder outside of all that is written; nothing in it may change."""
    (tmp_path / "victim").mkdir()
    for name in ("file.txt", "part-00000.parquet", "part-00001.parquet", "slice.json.gz"):
        (tmp_path / "victim" / name).write_text("precious")
    return tmp_path / "victim"


def _files(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir()}


def _slices(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads((folder / NAME).read_text())
    change(document)
    (folder / NAME).write_text(json.dumps(document))


def _each_slice(**changed: object) -> Callable[[dict[str, Any]], object]:
    warned = {"warnings": ["PromQL: partial response: store-1 unavailable"]}
    return lambda document: [
        one.update({**warned, **changed}) for every in document["slices"].values() for one in every
    ]


@pytest.mark.parametrize(
    "change",
    [
        _each_slice(file="../victim/file.txt", size_bytes=8),
        _each_slice(file="kubernetes.json.gz", size_bytes=8),
        _each_slice(start_s="x"),
        _each_slice(end_s=0),
        _each_slice(other=1),
        lambda document: document.pop("asked"),
        lambda document: document.update(asked=5),
        lambda document: document.update(times="x"),
        lambda document: document.update(times={"start_s": 1}),
        lambda document: document.update(slices=[1]),
    ],
)
def test_a_changed_document_of_a_fetch_is_asked_anew(
    victim: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    out, before = tmp_path / "out", _files(victim)
    with serving(Made(replies=[some])) as made:
        whole = fetched(made.url, out)
        (out / "kubernetes.json.gz").write_text("precious")
        _slices(out, change)
        assert fetched(made.url, out).queries[0].files == whole.queries[0].files
    assert _files(victim) == before
    assert (out / "kubernetes.json.gz").read_text() == "precious"


@pytest.mark.parametrize("name", [f"{NAME}.new", f"{NAME}.lock", ".container_cpu_in_use.part"])
def test_a_fetch_writes_through_no_link(victim: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(victim / "file.txt")
    before = _files(victim)
    with serving(Made(replies=[some])) as made, pytest.raises((TracekitError, OSError)):
        fetched(made.url, tmp_path / "out")
    assert _files(victim) == before


def test_a_file_whose_name_nobody_typed_takes_the_place_of_a_link(
    victim: Path, tmp_path: Path
) -> None:
    (tmp_path / "kubernetes.json.gz").symlink_to(victim / "file.txt")
    before = _files(victim)
    with replaced_file(tmp_path / "kubernetes.json.gz", follow=False) as made, packing(made) as out:
        out.write(b"{}")
    assert _files(victim) == before
    assert not (tmp_path / "kubernetes.json.gz").is_symlink()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_store(tmp_path_factory.mktemp("linked")).path


@pytest.mark.parametrize(
    "link",
    [None, "tables", "tables/node/part-00001.parquet", "quality", ".staging", ".lock",
     ".manifest.json.new", ".catalog.duckdb.new"],
)  # fmt: skip
def test_a_store_is_written_through_no_link(
    made: Path, victim: Path, tmp_path: Path, link: str | None
) -> None:
    store = shutil.copytree(made, tmp_path / "store")
    if link is not None:
        place = store / link
        if place.is_dir():
            shutil.rmtree(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(victim / "file.txt" if "." in link else victim)
    before = _files(victim)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/nodes.csv").write_text("node,cpu_milli,memory_bytes\nn9,8000,34359738368\n")
    assert run(["ingest", str(tmp_path / "mine"), str(store), "--jobs", "1"]) == (2 if link else 0)
    assert _files(victim) == before


@pytest.mark.parametrize(
    "change", [{"dimensions": {"../../victim": 1}}, {"sources": [{"table": "../../victim"}]}]
)
def test_a_manifest_names_tables_by_plain_words(
    made: Path, tmp_path: Path, change: Mapping[str, Any]
) -> None:
    store = shutil.copytree(made, tmp_path / "store")
    path = store / "manifest.json"
    document = json.loads(path.read_text())
    document.pop("seal")
    for key, value in change.items():
        if isinstance(value, list):
            document[key][0].update(value[0])
        else:
            document[key].update(value)
    path.write_bytes(_sealed(json.dumps(document).removesuffix("}").encode()))
    with pytest.raises(TracekitError):
        read_manifest(store)


@pytest.mark.parametrize("link", [".synth-partial", "truth", ".lock"])
def test_a_made_up_trace_is_written_through_no_link(
    victim: Path, tmp_path: Path, link: str
) -> None:
    out = tmp_path / "out"
    words = ["synth", str(out), "--preset", "tiny", "--tables", "node", "--parts", "0"]
    assert run(words) == 0
    if (out / link).exists():
        (out / link).rename(victim / link)
    (out / link).symlink_to(victim / {"truth": link, ".lock": "file.txt"}.get(link, ""))
    before = {one: one.read_bytes() for one in victim.rglob("*") if one.is_file()}
    assert run(words) == 2
    assert {one: one.read_bytes() for one in victim.rglob("*") if one.is_file()} == before
