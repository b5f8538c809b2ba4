"""Worker processes, shell commands, and the current folder, which runs no code."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests_support import NODE_HEADER, TraceFolder, node_lines

import tracekit
from tracekit.base import crew
from tracekit.base.isolation import interpreter, safe_path
from tracekit.base.units import duration
from tracekit.base.words import in_lines
from tracekit.intake.ingest import ingest

HOME = Path(tracekit.__file__).parent.parent
#: What the libraries and tracekit import, or look for without needing it.
PLANTED = ("pickle", "json", "queue", "multiprocessing", "numpy", "polars", "pyarrow", "pandas")
MODULE = [sys.executable, "-m", "tracekit"]
#: As the command that pip writes begins: the first place to import from is its own folder.
SCRIPT = [
    *(sys.executable, "-P", "-c"),
    "import sys; sys.path.insert(0, '/bin'); from tracekit.__main__ import main; main()",
]


def plant(folder: Path, *names: str) -> None:
    """Put modules into a folder that leave a mark beside it when they are imported."""
    for name in names:
        code = f"open({str(folder.parent / 'ran')!r}, 'a').write('{name} ')\nraise SystemExit(99)\n"
        (folder / f"{name}.py").write_text(code)


def run_in(
    folder: Path, start: list[str], *arguments: str, path: str = str(HOME)
) -> subprocess.CompletedProcess[str]:
    """Run tracekit standing in the folder."""
    return subprocess.run(
        [*start, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def trapped(traces: TraceFolder) -> Path:
    """A folder of traces with modules in it."""
    traces.write("Node_1.csv", NODE_HEADER, node_lines(9, 50))
    plant(traces.path, *PLANTED)
    return traces.path


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "ingest . ../store --jobs 2",
        "synth ../made --preset tiny --tables node,rate --jobs 2",
        "callgraph ../stored --jobs 2 --out ../calls",
        "replay ../stored --policy first_fit --policy best_fit --jobs 2 --out ../run",
        "run . --out ../all --policy first_fit",
    ],
)
def test_no_module_of_the_current_folder_is_imported(trapped: Path, command: str) -> None:
    if "stored" in command:
        ingest(trapped, trapped.parent / "stored")
    done = run_in(trapped, MODULE, *command.split())
    assert not (trapped.parent / "ran").exists()
    assert (done.returncode, done.stderr) == (0, "")


def test_numba_takes_no_settings_from_the_current_folder(tmp_path: Path) -> None:
    """They could name a folder of compiled code, which is pickles; and here they are broken too."""
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: .kept\n")
    text = (
        "import colorsys, yaml; from tracekit.base import jit;"
        "from tracekit.base.jit import numba;"
        "from pathlib import Path; Path('.numba_config.yaml').write_text('- x');"
        "compiled = jit.compiled(colorsys.rgb_to_yiq);"
        "print(compiled(0.0, 0.0, 0.0)[0], numba.config.CACHE_DIR, yaml)"
    )
    done = run_in(tmp_path, [sys.executable, "-W", "error", "-c", text])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("0.0  <module 'yaml'")
    assert not (tmp_path / ".kept").exists()


@pytest.mark.slow
def test_an_empty_entry_of_the_module_path_is_not_the_current_folder(trapped: Path) -> None:
    done = run_in(trapped, SCRIPT, "ingest", ".", "../store", "--jobs", "2", path=f"{HOME}:")
    assert not (trapped.parent / "ran").exists()
    assert (done.returncode, done.stderr) == (0, "")


def test_named_folders_stay_and_the_current_one_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", "/own", str(tmp_path), "/site"])
    monkeypatch.setenv("PYTHONPATH", "/own:")
    assert safe_path() == ["/own", "/site", str(HOME)]
    monkeypatch.setenv("PYTHONPATH", f"/own:{tmp_path}")
    assert safe_path() == ["/own", str(tmp_path), "/site", str(HOME)]


def test_a_checkout_one_stands_in_is_looked_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HOME)
    monkeypatch.setattr(sys, "path", ["", "/site"])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert safe_path() == ["/site", str(HOME)]


def test_a_worker_imports_as_its_parent_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "says.py").write_text("import sys\ndef main(): print(sys.argv[1:])")
    (tmp_path / "here").mkdir()
    plant(tmp_path / "here", "says")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "nowhere"))
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "tool"), *filter(None, sys.path)])
    command = [*interpreter("says"), "a", "b"]
    assert subprocess.check_output(command, text=True) == "['a', 'b']\n"


def test_a_thousand_jobs_do_not_start_a_thousand_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []

    class Counted:
        def __init__(self, _without: tuple[str, ...]) -> None:
            started.append(self)

        def stop(self) -> None:
            pass

    monkeypatch.setattr(crew, "_Worker", Counted)
    crew.Workers(1000).close()
    assert len(started) == os.cpu_count()


LONG = (
    "tracekit replay 'my store' --assume 'name=a value' --policy first_fit --policy"
    " 'near[near_weight=2]' --repeat 20 --out 'a folder'"
)


@pytest.mark.parametrize("width", [30, 44, 78, 400])
def test_a_shell_reads_the_lines_as_the_command(width: int) -> None:
    lines = in_lines(LONG, width)
    assert shlex.split(lines.replace("\\\n", "")) == shlex.split(LONG)
    assert all(line.endswith(" \\") for line in lines.split("\n")[:-1])


def test_lines_fit_and_begin_with_an_option() -> None:
    first, *others = in_lines(LONG, 44).split("\n")
    assert len(first) <= 44
    assert others
    assert all(len(line) <= 44 and line.startswith("    --") for line in others)


# Quantities as screens show them.


HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("time_ms", "expected"),
    [
        (60, "60 ms"),
        (90_000, "1 min 30 s"),
        (71 * HOUR_MS, "71 h"),
        (72 * HOUR_MS, "3 d"),
        (1823 * HOUR_MS + 60_000, "75 d 23 h"),
    ],
)
def test_a_span_of_time(time_ms: float, expected: str) -> None:
    assert duration(time_ms) == expected
