from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tracekit.base.crew import Workers
from tracekit.base.errors import TracekitError
from tracekit.base.progress import SILENT
from tracekit.commands.shell import run
from tracekit.synth import generate, tasks, write
from tracekit.synth.files import check_out, staged


def fingerprints(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_same_preset_and_seed_give_the_same_bytes(tiny: Path, tmp_path: Path) -> None:
    write(tmp_path / "again", preset="tiny", seed=7)

    assert fingerprints(tmp_path / "again") == fingerprints(tiny)


@pytest.mark.slow
def test_bytes_do_not_depend_on_the_number_of_threads(tiny: Path, tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from tracekit.synth import write; write(pathlib.Path(sys.argv[1]), "
    )
    subprocess.run(
        [sys.executable, "-c", code + "preset='tiny', seed=7)", str(tmp_path / "one")],
        check=True,
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
    )

    assert fingerprints(tmp_path / "one") == fingerprints(tiny)


@pytest.mark.slow
def test_bytes_do_not_depend_on_the_number_of_processes(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "CALL_FILES_PER_TASK", 1)
    write(tmp_path / "two", preset="tiny", seed=7, jobs=2)

    assert fingerprints(tmp_path / "two") == fingerprints(tiny)


SELECTIONS: list[tuple[list[str], list[int] | None, set[str]]] = [
    (["node"], None, {"node/Node_0"}),
    (["MSRTQps"], [0, 3], {"MSRTQps/MSRTQps_0", "MSRTQps/MSRTQps_3"}),
    (["container_usage", "node"], [1], {"MSResource/MSResource_1", "node/Node_0"}),
    (["call"], [1], {"MSCallGraph/MSCallGraph_1"}),
    (
        [],
        [0],
        {
            "MSCallGraph/MSCallGraph_0",
            "MSRTQps/MSRTQps_0",
            "MSResource/MSResource_0",
            "node/Node_0",
        },
    ),
]


@pytest.mark.parametrize(("tables", "parts", "archives"), SELECTIONS)
def test_an_archive_is_the_same_whichever_others_are_written(
    tiny: Path, tmp_path: Path, tables: list[str], parts: list[int] | None, archives: set[str]
) -> None:
    summary = write(tmp_path, preset="tiny", seed=7, tables=tables, parts=parts)

    whole, some = fingerprints(tiny), fingerprints(tmp_path)
    packed = {name for name in some if name.endswith(".tar.gz")}
    assert packed == {f"{name}.tar.gz" for name in archives}
    assert {name: some[name] for name in packed} == {name: whole[name] for name in packed}
    tables_too = {"sizes/nodes.csv", "sizes/containers.csv"} if not tables else set()
    assert {name for name in some if name.startswith("sizes/")} == tables_too
    assert summary.files == len(archives) + len(tables_too)
    # what is told about nodes is the whole truth; about what was not made nothing is told
    assert ("truth/node.parquet" in some) == ("node/Node_0" in archives)
    assert some.get("truth/node.parquet") in {None, whole["truth/node.parquet"]}


def test_a_process_that_fails_ends_all_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_args: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tasks, "rate_blocks", failing)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "out", preset="tiny", seed=7)
    assert list((tmp_path / "out").iterdir()) == []


def test_another_seed_gives_another_trace(tiny: Path, tmp_path: Path) -> None:
    write(tmp_path / "other", preset="tiny", seed=8)

    mine, other = fingerprints(tiny), fingerprints(tmp_path / "other")
    assert mine.keys() == other.keys()
    assert all(mine[name] != other[name] for name in mine)


def test_summary_counts_what_is_in_the_files(
    tmp_path: Path, tiny_lines: dict[str, list[str]]
) -> None:
    summary = write(tmp_path / "out", preset="tiny", seed=7, progress=SILENT)

    by_stem: dict[str, int] = {}
    for name, lines in tiny_lines.items():
        stem = name.split("_")[0]
        by_stem[stem] = by_stem.get(stem, 0) + len(lines) - 1
    assert summary.rows == {
        "container_usage": by_stem["MSResource"],
        "node_usage": by_stem["Node"],
        "service_rate": by_stem["MSRTQps"],
        "call": by_stem["MSCallGraph"],
        "node": 12,
        "container": 80,
    }
    assert summary.files == len(tiny_lines) + 2
    written = [*(tmp_path / "out").glob("*/*.tar.gz"), *(tmp_path / "out").glob("sizes/*.csv")]
    sizes = [path.stat().st_size for path in written]
    assert summary.size_bytes == sum(sizes)
    defects = pl.read_parquet(summary.truth / "defect.parquet")
    assert summary.defects == {
        action: defects.filter(pl.col("action") == action).height
        for action in ("dropped", "kept", "null", "rejected")
    }


def test_an_earlier_made_up_trace_is_replaced(tmp_path: Path) -> None:
    write(tmp_path, preset="tiny", seed=1)
    extra = tmp_path / "MSResource" / "MSResource_9.tar.gz"
    extra.write_bytes(b"left over")
    write(tmp_path, preset="tiny", seed=2)

    assert not extra.exists()
    assert json.loads((tmp_path / "truth" / "manifest.json").read_text())["seed"] == 2


@pytest.mark.slow
def test_a_script_without_a_main_guard_is_not_run_again(tiny: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\nfrom tracekit.synth import write\n"
        "print('begun', flush=True)\n"
        "write(Path(sys.argv[1]), preset='tiny', seed=7, jobs=2)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "begun\n"
    assert fingerprints(tmp_path / "out") == fingerprints(tiny)


def test_a_crew_that_is_there_writes_the_same_bytes_and_stays(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "FEW_ROWS", 0)
    crew = Workers(2)
    try:
        monkeypatch.setattr(generate, "Workers", None)
        for name in ("first", "second"):
            write(tmp_path / name, preset="tiny", seed=7, jobs=0, crew=crew)
            assert fingerprints(tmp_path / name) == fingerprints(tiny)
    finally:
        crew.close()


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")

    with pytest.raises(TracekitError):
        check_out(tmp_path)


def test_nothing_is_left_under_its_final_name_after_a_failure(tmp_path: Path) -> None:
    def fail() -> None:
        with staged(tmp_path / "out", ["a", "truth"]) as folder:
            (folder / "a").mkdir()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list((tmp_path / "out").iterdir()) == []


def test_an_interrupted_run_may_be_repeated(tmp_path: Path) -> None:
    (tmp_path / ".synth-partial").mkdir()
    (tmp_path / "node").mkdir()

    check_out(tmp_path)


def test_a_second_one_is_refused_and_the_first_is_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with staged(out, ["a", "truth"]) as folder:
        (folder / "a").mkdir()
        (folder / "truth").mkdir()
        with pytest.raises(TracekitError), staged(out, ["a"]):
            raise AssertionError("not reached")
    assert sorted(path.name for path in out.iterdir()) == ["a", "truth"]


def test_what_a_killed_one_left_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("process 1 on nowhere")
    with staged(tmp_path, ["a", "truth"]) as folder:
        (folder / "a").mkdir()
        (folder / "truth").mkdir()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "truth"]


def test_json_is_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synth", str(tmp_path / "out"), "--preset", "tiny", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tracekit/synth/1"
    assert document["preset"] == "tiny"
    assert document["rows"].keys() == {
        "node_usage",
        "container_usage",
        "service_rate",
        "call",
        "node",
        "container",
    }
    assert Path(document["truth"]).is_dir()
