"""Damage x command: a damaged store or result is one line that names the file and what to do."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from store_support import tree_but_lock
from tests_support import TraceFolder

from tracekit import commands
from tracekit.commands.shell import module_name, run

COMMANDS = {module_name(name) for name in commands.command_names()}

#: What each subcommand is asked of a store or a run; ``{}`` is the folder they lie in.
OF_A_STORE = {
    "analyze": ["{}/store", "--out", "{}/out"],
    "bind": ["{}/store", "--fit", "{}/fit", "--out", "{}/out"],
    "callgraph": ["{}/store", "--out", "{}/out"],
    "check": ["{}/store"],
    "claims": ["{}/store"],
    "fit": ["{}/store", "--out", "{}/out"],
    "info": ["{}/store"],
    "ingest": ["{}/more", "{}/store"],
    "estimate": ["{}/store"],
    "query": ["{}/store", "usage/node_profile"],
    "replay": ["{}/store", "--policy", "first_fit", "--out", "{}/out"],
    "report": ["{}/store", "--out", "{}/out.html"],
    "explain": ["{}/store", "--policy", "first_fit", "--container", "any"],
    "nodes": ["{}/store", "--policy", "first_fit", "--out", "{}/out"],
    "requests": ["{}/store", "--policy", "oracle", "--out", "{}/out"],
    "sensitivity": ["{}/store", "--out", "{}/out"],
}
OF_A_RUN = {
    "compare": ["{}/run", "{}/run"],
    "export": ["{}/run", "--to", "kube-scheduler", "--out", "{}/out.yaml"],
    "report": ["{}/run", "--out", "{}/out.html"],
}
#: Subcommands that read no store and no result, or only those they made in the same call; the
#: duckdb CLI takes the place of this process.
OF_NEITHER = {
    "duckdb",
    "extender-bench",
    "fetch",
    "fetch kubernetes",
    "fetch prometheus",
    "list",
    "optimize-bench",
    "placement-bench",
    "run",
    "serve",
    "synth",
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store, a run, a fit and more trace files, all sound."""
    folder = tmp_path_factory.mktemp("sound")
    TraceFolder.written(folder / "traces")
    more = TraceFolder.written(folder / "more")
    more.write("Node_1.csv", ",timestamp,nodeid,node_cpu_usage,node_memory_usage", ["7,n,0.5,0.5"])
    store = str(folder / "store")
    assert run(["ingest", str(folder / "traces"), store]) == 0
    assert run(["replay", store, "--policy", "first_fit", "--out", str(folder / "run")]) == 0
    assert run(["fit", store, "--out", str(folder / "fit")]) == 0
    return folder


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def half(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
    path.write_bytes(content)


def another(path: Path) -> None:
    pl.DataFrame({"strange": [1]}).write_parquet(path)


def changed(name: str, value: object, path: Path) -> None:
    document = json.loads(path.read_text())
    document.pop(name, None)
    path.write_text(json.dumps(document if value is None else {**document, name: value}))


#: What a field of a document becomes; None: it goes.
CHANGES: dict[str, object] = {"without": None, "number": 5, "list": [5]}
FILES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": cut,
    "other bytes": lambda path: path.write_bytes(b"x" * 100),
    "zeros in it": half,
    "another table": another,
    "gone": Path.unlink,
}
DOCUMENTS: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "no JSON": lambda path: path.write_text("{'a': 1}"),
    "a list": lambda path: path.write_text("[1]"),
    "nested": lambda path: path.write_text("[" * 100_000),
    "bytes": lambda path: path.write_bytes(b"\xff\x00"),
    **{
        f"{what} {name}": functools.partial(changed, name, change)
        for name in ("sources", "workload", "policies", "dimensions", "tool_version")
        for what, change in CHANGES.items()
    },
}


def said_of(
    folder: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """The exit code and the one line; nothing may be a bug, and nothing half-written stays."""
    before = tree_but_lock(folder)
    code = run([word.format(folder) for word in arguments])
    error_text = capsys.readouterr().err
    assert "bug" not in error_text
    assert "Traceback" not in error_text
    assert len(error_text.splitlines()) <= 2
    if code:
        assert error_text.startswith("error: ")
        now = {name for name in tree_but_lock(folder) if "/quality/" not in name}
        assert now - set(before) <= {"store/catalog.duckdb"}
    return code, error_text.partition("\n")[0]


def test_every_subcommand_is_in_the_tables() -> None:
    assert set(OF_A_STORE) | set(OF_A_RUN) | OF_NEITHER == COMMANDS


@pytest.mark.parametrize("command", OF_A_STORE)
def test_a_damaged_part_stops_no_command_with_a_bug(
    command: str, sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "it"
    shutil.copytree(sound, folder)
    for path in sorted((folder / "store").glob("*/*/*.parquet")):
        path.write_bytes(b"x" * 100)
    code, line = said_of(folder, [command, *OF_A_STORE[command]], capsys)
    if command == "ingest":  # the files that the parts came from are given again: that mends them
        assert code == 0
        assert run(["check", str(folder / "store"), "--verify"]) == 0
        return
    assert code == 2
    assert "parquet" in line


@pytest.mark.parametrize("damage", FILES)
@pytest.mark.parametrize("table", ["tables/node_usage", "dimensions/node", "quality"])
def test_every_damage_of_a_part_is_named(
    damage: str, table: str, sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "it"
    shutil.copytree(sound, folder)
    file = min((folder / "store" / table).glob("*.parquet"))
    FILES[damage](file)
    wanted = "quality/ledger" if table == "quality" else "usage/node_profile"
    code, line = said_of(folder, ["query", "{}/store", wanted, "--format", "csv"], capsys)
    assert code == 2
    assert f"{file.parent}" in line
    assert "is damaged: " in line


@pytest.mark.parametrize("damage", DOCUMENTS)
def test_a_damaged_manifest_of_a_store_is_named(
    damage: str, sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "it"
    shutil.copytree(sound, folder)
    DOCUMENTS[damage](folder / "store" / "manifest.json")
    for command in ("info", "ingest", "replay"):
        code, line = said_of(folder, [command, *OF_A_STORE[command]], capsys)
        if any(word in damage for word in ("workload", "policies", "without dimensions")):
            continue
        assert code == 2
        assert "manifest.json is damaged: " in line


@pytest.mark.parametrize("damage", [*FILES, *DOCUMENTS])
@pytest.mark.parametrize("command", OF_A_RUN)
def test_a_damaged_run_is_named(
    command: str, damage: str, sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "it"
    shutil.copytree(sound / "run", folder / "run")
    name = "steps.parquet" if damage in FILES else "manifest.json"
    {**DOCUMENTS, **FILES}[damage](folder / "run" / name)
    code, line = said_of(folder, [command, *OF_A_RUN[command]], capsys)
    if code:
        assert str(folder / "run") in line
    assert code == 2 or name == "manifest.json"
