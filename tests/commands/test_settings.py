"""A project's settings: flag over file over default; what is not known is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tracekit.commands.shell import run

FILE = """
policies = ["first_fit", "cwt[tie=first]"]
thresholds = "pending > 5"
[assume]
node_cpu_cores = 96
start = "observed"
[replay]
repeat = 3
gang = true
[ingest]
memory-limit = "2kB"
"""


class _HeardError(Exception):
    """What the verb was called with."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with settings; the current folder is one inside it."""
    (tmp_path / "tracekit.toml").write_text(FILE)
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    return tmp_path


def heard(words: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    got: list[dict[str, Any]] = []

    def hear(*_: object, **options: Any) -> None:
        got.append(options)
        raise _HeardError

    monkeypatch.setattr(f"tracekit.{words.split(maxsplit=1)[0]}", hear)
    run(words.split())
    return got[0]


FROM_FILE = {
    "policies": ["first_fit", "cwt[tie=first]"],
    "assume": ["node_cpu_cores=96", "start=observed"],
}
TYPED = "--policy best_fit --repeat 1 --assume node_cpu_cores=8 --assume limit_factor=2"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("replay s --out r", {**FROM_FILE, "repeats": 3, "gangs": True, "seed": 0}),
        (f"replay s --out r {TYPED}",
         {"policies": ["best_fit"], "repeats": 1,
          "assume": ["start=observed", "node_cpu_cores=8", "limit_factor=2"]}),
        ("run s --out r", FROM_FILE),
        ("nodes s", FROM_FILE),
        ("sensitivity s", {"policies": FROM_FILE["policies"]}),
        ("compare a b", {"fail_if": ["pending > 5"]}),
        ("compare a b --fail-if moves>1", {"fail_if": ["moves>1"]}),
        ("ingest t s", {"memory_limit_bytes": 2000}),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("project")
def test_a_flag_goes_before_the_file_and_the_file_before_the_default(
    words: str, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    got = heard(words, monkeypatch)
    assert {name: got.get(name) for name in expected} == expected


@pytest.mark.usefixtures("project")
def test_sizing_has_policies_and_assumptions_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    got = heard("requests s --out r", monkeypatch)
    assert "policies" not in got
    assert "assume" not in got


REFUSED = [
    ("polices = ['a']", "'polices'", "'policies'"),
    ("[replay]\nrepaet = 1", "'repaet'", "'repeat'"),
    ("[repaly]\nrepeat = 1", "'repaly'", "'replay'"),
    ("[replay]\nstore = 's'", "'store'", ""),
    ("[info]\njson = [1]", "json", None),
    ("policies = 3", "3", None),
    ("policies = [['a']]", "policies", None),
    ("policies = ['./mine.py[a=1]']", "./mine.py[a=1]", "policy"),
    ("policies = ['first_fit[]+./mine.py']", "first_fit", "policy"),
    ("[replay]\nengine = 'spark://h:1'", "'engine'", "--engine"),
    ("a = [", "TOML", "docs/"),
    (f"policies = {'[' * 20_000}", "TOML", "docs/"),
    (f"policies = [{'1' * 5_000}]", "TOML", "docs/"),
]


@pytest.mark.parametrize(("text", "line", "hint"), REFUSED)
def test_what_it_cannot_mean_is_refused(
    text: str,
    line: str,
    hint: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.toml").write_text(text)
    command = ["info", "s"] if "[info]" in text else ["replay", "s", "--out", "r"]
    assert run(["--config", "x.toml", *command]) == 2
    error_text = capsys.readouterr().err.splitlines()
    assert error_text[0].startswith("error: x.toml")
    assert line in error_text[0]
    assert len(error_text) == (1 if hint is None else 2)
    assert hint is None or (error_text[-1].startswith(" hint: ") and hint in error_text[-1])


def test_the_file_that_is_used_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TRACEKIT_QUIET")
    heard("sensitivity s", monkeypatch)
    assert f"settings: {project / 'tracekit.toml'}" in capsys.readouterr().err
    run(["list"])
    assert capsys.readouterr().err == ""
    assert run(["--help"]) == 0
    assert "tracekit.toml" in capsys.readouterr().out


@pytest.fixture
def within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for settings, whose sub-folder, the current one, has a link out of it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "data/sub").mkdir(parents=True)
    (tmp_path / "data/sub/link").symlink_to(tmp_path / "outside")
    monkeypatch.chdir(tmp_path / "data/sub")
    return tmp_path / "data"


PLACES = ["query out", "report out", "replay out", "compare junit", "analyze out"]
#: Settings that name files to be read, and how each names one.
READ = ["query read {0}", "query read t={0}", "replay workload {0}", "replay workload openb:{0}",
        "replay prices {0}", "replay assume requests=sized:{0}", "replay policy {0}[weight=2]",
        "requests model {0}", "ingest memory-limit {0}"]  # fmt: skip


@pytest.mark.parametrize("place", ["{0}/outside/x", "../../outside/x", "link/x", "x/../../../o"])
@pytest.mark.parametrize("words", PLACES)
def test_it_sets_no_place_outside_of_its_folder(
    words: str, place: str, within: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, key = words.split()
    text = f'[{command}]\n{key} = "{place.format(within.parent)}"'
    (within / "tracekit.toml").write_text(text)
    calls: list[object] = []
    monkeypatch.setattr(f"tracekit.{command}", lambda *_, **__: calls.append(command))
    assert run([command, *("ab" if command in ("query", "compare") else "a")]) == 2
    assert calls == []


@pytest.mark.parametrize("place", ["{0}/outside/x", "../../outside/x", "link/x", "link"])
@pytest.mark.parametrize("words", READ)
def test_it_names_no_file_outside_of_its_folder(
    words: str, place: str, within: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, key, text = words.split()
    named = text.format(place.format(within.parent))
    (within / "tracekit.toml").write_text(f'[{command}]\n{key} = ["{named}"]')
    if key in ("workload", "prices", "model", "memory-limit"):
        (within / "tracekit.toml").write_text(f'[{command}]\n{key} = "{named}"')
    more = {"query": "a b", "replay": "a --out r", "ingest": "a b"}.get(command, "a")
    assert run([command, *more.split()]) == 2
    first = capsys.readouterr().err.splitlines()[0]
    assert "tracekit.toml" in first
    assert named in first


def test_it_sets_places_in_its_folder(within: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (within / "tracekit.toml").write_text('[replay]\nout = "../runs/new"')
    assert heard("replay s", monkeypatch)["out"] == Path("../runs/new")
