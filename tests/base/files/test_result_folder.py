"""Folders of results: told by a schema, written whole or not at all, never over other things."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tracekit.base.errors import TracekitError
from tracekit.base.facts import Answer, read_answer, write_document
from tracekit.base.files.result_folder import (
    ResultFolder,
    check_sound,
    checksum,
    document_of,
    is_sealed,
    read_frame,
)
from tracekit.base.study import Study, read_study, write_study
from tracekit.commands._verify import Subset, verified

KIND = ResultFolder(what="harvest", schema="tests/harvest/1")
DOCUMENT = {"schema": "tests/harvest/1", "pears": 3}
FRAME = pl.DataFrame({"kind": ["pear"]})


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


#: What is done to a file, by the kind of damage that it is.
DAMAGE: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-2]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "changed": flipped,
}


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_document_frames_and_more(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    KIND.write(out, DOCUMENT, {"fruit": FRAME, "left out": None},
               more=lambda made: (made / "extra.txt").touch())  # fmt: skip
    assert files(out) == ["extra.txt", "fruit.parquet", "manifest.json"]
    document = json.loads((out / "manifest.json").read_text())
    assert is_sealed(document)
    assert not is_sealed({**document, "pears": 4})
    sums = {name: checksum(out / name) for name in ("extra.txt", "fruit.parquet")}
    rest = {name: value for name, value in document.items() if name != "seal"}
    assert rest == {**DOCUMENT, "files": ["extra.txt", "fruit.parquet"], "checksums": sums}
    assert pl.read_parquet(out / "fruit.parquet").equals(FRAME)
    assert KIND.holds(out)


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["fruit.parquet", "manifest.json"])
def test_every_damage_is_found_with_its_kind(tmp_path: Path, damage: str, name: str) -> None:
    KIND.write(tmp_path, DOCUMENT, {"fruit": FRAME, "timing": FRAME})
    check_sound(tmp_path)
    result = verified(tmp_path, Subset()).document()
    assert (result["damaged"], result["verified"]) == ([], 2)
    path = tmp_path / name
    DAMAGE[damage](path)
    if name != "manifest.json":
        with pytest.raises(TracekitError, match=r"fruit\.parquet is damaged"):
            KIND.sound(tmp_path)
        whole = verified(tmp_path, Subset()).document()["damaged"]
        assert [(one["path"], one["kind"]) for one in whole] == [(name, damage)]
        # of two shares one has the file
        shares = [verified(tmp_path, Subset(at, 2)).document()["damaged"] for at in (1, 2)]
        assert sorted(shares) == [[], whole]
    elif damage != "gone":
        (one,) = verified(tmp_path, Subset()).document()["damaged"]
        assert one["path"] == name


def test_the_times_of_a_result_have_checksums_of_their_own(tmp_path: Path) -> None:
    KIND.write(tmp_path, DOCUMENT, {"fruit": FRAME, "timing": FRAME})
    path = tmp_path / "timing.parquet"
    whole = path.read_bytes()
    harmed = 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        results = [one.path for one in verified(tmp_path, Subset()).damaged]
        harmed += results == ["timing.parquet"]
        # what a reader does not look at may be anything
        assert results or read_frame(path).equals(FRAME)
    assert harmed > len(whole) // 4
    path.unlink()
    assert [one.kind for one in verified(tmp_path, Subset()).damaged] == ["gone"]


def test_an_answer_is_what_was_written_or_named(tmp_path: Path) -> None:
    KIND.write(tmp_path / "replay", DOCUMENT, {"fruit": FRAME})
    write_document(tmp_path, {"facts": [], "next": []})
    assert verified(tmp_path, Subset()).damaged == []
    assert read_answer(tmp_path) == Answer(facts=(), next=())
    path = tmp_path / "answer.json"
    path.write_text(path.read_text().replace("next", "text"))
    assert [one.path for one in verified(tmp_path, Subset()).damaged] == ["answer.json"]
    with pytest.raises(TracekitError):
        read_answer(tmp_path)


def test_one_of_its_kind_is_replaced_but_for_what_others_put_there(tmp_path: Path) -> None:
    KIND.write(tmp_path / "out", DOCUMENT, {"old": FRAME})
    (tmp_path / "out" / "report.html").write_text("mine")
    (tmp_path / "out" / "notes").mkdir()
    (tmp_path / "out" / "notes" / "one.txt").write_text("mine too")
    for _ in range(2):
        KIND.write(tmp_path / "out", DOCUMENT, {"new": FRAME})
        assert files(tmp_path / "out") == ["manifest.json", "new.parquet", "notes", "report.html"]
    assert (tmp_path / "out" / "report.html").read_text() == "mine"
    assert (tmp_path / "out" / "notes" / "one.txt").read_text() == "mine too"


def test_of_a_folder_that_lists_no_files_nothing_stays(tmp_path: Path) -> None:
    """Written before files were listed: its frames are not those of what takes its place."""
    KIND.write(tmp_path / "out", DOCUMENT, {"old": FRAME})
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(DOCUMENT))
    KIND.write(tmp_path / "out", DOCUMENT, {"new": FRAME})
    assert files(tmp_path / "out") == ["manifest.json", "new.parquet"]


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    KIND.write(tmp_path / "out", DOCUMENT, {"old": FRAME})
    with pytest.raises(ValueError, match="nan"):
        KIND.write(tmp_path / "out", {**DOCUMENT, "pears": float("nan")}, {"new": FRAME})
    assert files(tmp_path / "out") == ["manifest.json", "old.parquet"]
    assert files(tmp_path) == ["out"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "tests/harvest/2"}'])
def test_anything_else_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    assert not KIND.holds(tmp_path)
    with pytest.raises(TracekitError, match="harvest"):
        KIND.write(tmp_path, DOCUMENT, {})
    assert (tmp_path / "manifest.json").read_text() == text


# Study folders: written whole, read back the same, and never over something else.


STUDY = Study(
    name="made_up", about={"seed": 3, "names": ["a"]}, frames={"rows": pl.DataFrame({"x": [1, 2]})}
)


def test_it_reads_back(tmp_path: Path) -> None:
    for _ in range(2):
        write_study(STUDY, tmp_path / "a" / "study")
    result = read_study(tmp_path / "a" / "study")
    assert (result.name, result.about) == (STUDY.name, STUDY.about)
    assert result.frames["rows"].equals(STUDY.frames["rows"])
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["study"]


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("keep")
    (tmp_path / "file").write_text("keep")
    for name in ("letters", "file"):
        with pytest.raises(TracekitError, match=f"{name}' exists"):
            write_study(STUDY, tmp_path / name)
    assert (tmp_path / "letters" / "dear.txt").read_text() == "keep"
    assert (tmp_path / "file").read_text() == "keep"


def test_a_document_without_seal_and_checksums_is_of_no_result(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"schema": "tracekit/synth/1", "files": 3}')
    assert document_of(tmp_path) is None
    (tmp_path / "manifest.json").write_text('{"schema": "tracekit/replay/1", "checksums": {}}')
    assert document_of(tmp_path) is not None
