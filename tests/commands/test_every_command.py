"""Every subcommand has help with an example, and fails as the contract says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from tests_support import TraceFolder

from tracekit import commands
from tracekit.commands import shell as cli
from tracekit.commands.shell import build_app, module_name, run
from tracekit.commands.shell.command import Panel
from tracekit.replay.chance import FEWEST

COMMANDS = [module_name(name) for name in commands.command_names()]


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    for name in COMMANDS:
        assert re.search(rf"^  {name}  +[A-Z].*\w\.$", shown, re.MULTILINE), name
    assert max(len(line) for line in shown.splitlines()) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_a_summary_and_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"Example: tracekit {name}" in " ".join(shown.split())
    assert max(len(line) for line in shown.splitlines()) <= 80


def test_help_says_how_many_orders_an_interval_needs() -> None:
    words = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    sources = [path.read_text() for path in Path(cli.__file__).parents[1].rglob("*.py")]
    results = [one for text in sources for one in re.findall(r"(\w+)\s+orders of\s+arrival", text)]
    facts = [one for one in results if one in words]
    assert facts.count(words[FEWEST - 1]) == len(facts) >= 3


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_names_values_by_what_they_are(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A value is SEED, FOLDER, PROCESSES; never the type it has, nor a formula of its range."""
    run([name, "--help"])
    shown = capsys.readouterr().out
    usage = " ".join(shown[: shown.index("\n\n")].split())
    options = re.findall(r"^  (?:-\S+,? )+([A-Z<]\S*)", shown, re.MULTILINE)
    words = {word.strip("[]") for word in [*usage.split()[2:], *options]}
    assert not words & {"TEXT", "PATH", "N", "X", "INTEGER", "FLOAT", "STRING", "VALUE"}
    assert not re.search(r"\bx[<>]=?\d|<(int|float|text|path|range)", shown, re.IGNORECASE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_that_takes_a_value_has_a_word_for_it(name: str) -> None:
    group: Any = typer.main.get_command(build_app(name))
    for one in group.commands[name].params:
        flag = getattr(one, "is_flag", False)
        assert flag or one.metavar or getattr(one.type, "choices", None), one.name


def test_the_command_line_starts_light() -> None:
    """Help must answer at once, so nothing heavy may be imported for it."""
    code = (
        "import sys; from tracekit.commands.shell import build_app; build_app();"
        "heavy = {'polars', 'duckdb', 'numpy', 'plotly', 'sklearn', 'scipy', 'pyarrow', 'jinja2'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_replay_loads_what_it_needs() -> None:
    code = (
        "import sys; import tracekit.commands._replaying;"
        "print(sorted({'duckdb', 'scipy.optimize', 'numba', 'plotly'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_ingest_of_little_loads_no_compiler(tmp_path: Path) -> None:
    """It takes a third of the time that such an ingest takes."""
    node: dict[str, object] = {
        "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}
    }
    node |= {"kind": "Node", "status": {"allocatable": {"cpu": "4", "memory": "8Gi"}}}
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "List", "items": [node]}))
    code = (
        "import sys; from tracekit.commands.shell import run; code = run(sys.argv[1:]);"
        "print(code, 'numba' in sys.modules, file=sys.stderr)"
    )
    arguments = ["-q", "ingest", str(tmp_path / "nodes.json"), str(tmp_path / "store")]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "0 False"


def test_a_subcommand_loads_no_other() -> None:
    """Each brings its options and their types, which take longer to load than to use."""
    code = (
        "import sys; from tracekit.commands.shell import run; run(['ingest', '--help']);"
        "from tracekit import commands; from tracekit.commands import shell as cli;"
        "loaded = [m for m in commands.command_names() if f'tracekit.commands.{m}' in sys.modules];"
        "print(loaded, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "['ingest']"


ERRORS = [
    (["ingest", "nope", "store"], "nope"),
    (["info", "nope"], "nope"),
    (["check", "nope"], "nope"),
    (["query", "nope", "usage/zone_summary"], "nope"),
    (["analyze", "nope"], "nope"),
    (["list", "polices"], "'polices'"),
    (["ingest", ".", "store", "--memory-limit", "lots"], "'lots'"),
]


@pytest.mark.parametrize(("arguments", "message"), ERRORS)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    first, *rest = output.err.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert all(line.startswith(" hint: ") for line in rest)
    assert len(rest) <= 1
    assert list(tmp_path.iterdir()) == []


#: What is typed wrong, the line that says so, and what the hint begins with.
#: The first line names what is wrong; the hint, where there is one, what would be right.
MISTYPED = [
    (["ingst"], "'ingst'", "'ingest'"),
    (["zzz"], "'zzz'", "tracekit --help"),
    (["fetch prometheu"], "'fetch prometheu'", "'fetch prometheus'"),
    (["--hlep"], "'--hlep'", "'--help'"),
    (["synth", "--out", "a"], "'--out'", "--help"),
    (["ingest", "a", "b", "--jbos", "1"], "'--jbos'", "'--jobs'"),
    (["info"], "STORE", "tracekit info"),
    (["replay", "s"], "--out RUN", "tracekit replay"),
    (["info", "a", "b"], "tracekit info", "tracekit info"),
    (["query", "s", "q", "--format", "tabel"], "'tabel'", "'table'"),
    (["replay", "s", "--out", "r", "--seed", "x"], "--seed .* 'x'", ""),
    (["replay", "s", "--out", "r", "--seed", "-1"], "--seed .* -1", ""),
    (["replay", "s", "--out", "r", "--seed", "9" * 20], f"--seed .* {'9' * 20}", ""),
    (["placement-bench", "--target", "2"], "--target .* 2", ""),
]


@pytest.mark.parametrize(("arguments", "line", "hint"), MISTYPED)
def test_what_is_typed_wrong_is_told_as_any_other_mistake(
    arguments: list[str], line: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    first, *rest = output.err.splitlines()
    assert re.search(f"^error: .*{line}", first)
    assert [one.startswith(" hint: ") and hint in one for one in rest] == ([True] if hint else [])


def test_help_says_what_to_type_in_words_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        run([name, "--help"])
        shown = capsys.readouterr().out
        assert not re.findall(r"<(?:int|float|str|path|list|any)[^>]*>|\{\w+\}", shown), name


def test_help_lists_commands_under_what_one_wants_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["--help"])
    shown = capsys.readouterr().out
    at = [shown.index(f"\n{panel}:\n") for panel in Panel]
    assert at == sorted(at)
    assert shown.index(f"\n{Panel.replay}:\n") < shown.index("  replay ")


def test_ctrl_c_is_exit_code_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_store: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tracekit.info", interrupted)
    assert run(["info", "store"]) == 130
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_bug_is_one_line_unless_debugged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_store: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("tracekit.info", broken)
    assert run(["info", "store"]) == 2
    error_text = capsys.readouterr().err
    assert error_text.startswith("error: ")
    assert "ZeroDivisionError" in error_text
    assert "Traceback" not in error_text


@pytest.mark.slow
def test_the_whole_way_through_a_store(
    traces: TraceFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "store")
    assert run(["ingest", str(traces.path), store]) == 0
    assert run(["ingest", str(traces.path), store]) == 0
    capsys.readouterr()
    for arguments in (
        ["info", store],
        ["check", store],
        ["query", store, "usage/zone_summary"],
        ["query", store, "usage/node_profile", "-p", "min_samples=5", "--format", "csv"],
        ["analyze", store, "--out", str(tmp_path / "analysis")],
    ):
        assert run(arguments) == 0
        output = capsys.readouterr()
        assert output.out
        assert output.err == ""
        if "csv" not in arguments:
            shown = output.out.replace(str(tmp_path), "")
            assert max(len(line.rstrip()) for line in shown.splitlines()) <= 80, arguments
    assert (tmp_path / "analysis" / "usage" / "node_profile.parquet").exists()
    assert run(["check", store, "--strict"]) == 1


def test_json_documents_name_their_schema(
    traces: TraceFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "store")
    for arguments, schema in (
        (["ingest", str(traces.path), store], "tracekit/ingest/1"),
        (["info", store], "tracekit/info/1"),
        (["check", store], "tracekit/check/1"),
        (["analyze", store], "tracekit/analyze/1"),
        (["list", "queries"], "tracekit/list/1"),
    ):
        assert run([*arguments, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["schema"] == schema


def test_query_formats(
    traces: TraceFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "store")
    run(["ingest", str(traces.path), store])
    capsys.readouterr()
    assert run(["query", store, "usage/zone_summary", "--format", "json"]) == 0
    assert [row["zone"] for row in json.loads(capsys.readouterr().out)] == ["A", "C", "U"]
    out = tmp_path / "zones.parquet"
    assert run(["query", store, "usage/zone_summary", "--out", str(out)]) == 0
    assert out.read_bytes()[:4] == b"PAR1"


def test_a_command_line_can_be_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    """No subcommand's module may take the place of a function of the package."""
    assert cli.run(["--version"]) == 0
    assert cli.run(["--version"]) == 0
    assert cli.build_app() is not None
    assert callable(cli.run)
    assert capsys.readouterr().out
