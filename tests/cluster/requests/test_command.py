"""``--assume requests=...`` on the command line: what a run rests on, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest
from tracekit.synth import write


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("requests_command")
    write(folder / "trace", preset="tiny", seed=3, tables=["node", "resource", "size"])
    ingest(folder / "trace", folder / "store")
    return folder / "store"


def test_a_run_says_what_requests_rest_on(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file beside the caller is found, and named without its folder."""
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(
        "service,cpu_cores\n" + "".join(f"{name},2\n" for name in _services(store)),
        encoding="utf-8",
    )
    call = ["replay", str(store), "--policy", "best_fit", "--repeat", "1", "--out"]
    assert run([*call, "file", "--assume", "requests=mine.csv"]) == 0
    assert run([*call, "plain"]) == 0

    told, plain = (
        json.loads(Path(name, "manifest.json").read_text())["workload"]
        for name in ("file", "plain")
    )
    assert told["assumptions"]["requests"] == "mine.csv"
    assert told["quantities"]["requests: cpu_milli"] == "chosen"
    assert told["quantities"]["requests: memory_bytes"] == "recorded"
    assert plain["assumptions"]["requests"] == "auto"
    assert plain["quantities"]["requests"] == "recorded"
    assert plain["quantities"]["node sizes"] == "recorded"


def _services(store: Path) -> list[str]:
    from tracekit import query  # noqa: PLC0415 - the verb hides the package

    found = query(store, "services/profile")
    return [str(name) for name in found["service"]]
