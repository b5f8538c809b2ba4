"""The study from the command line to its report."""

from __future__ import annotations

import builtins
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sizing_support import written_set

import tracekit
from tracekit.answer.requests import answer_of_chains
from tracekit.base.errors import TracekitError
from tracekit.commands.shell import run
from tracekit.report.render import render
from tracekit.sizing.measures import MEASURES
from tracekit.sizing.read import CALLS, MEMBERS, STATES, shipped_model
from tracekit.sizing.study import Study
from tracekit.sizing.world.simset import Settings

BASELINES = ["minimum_selection", "random_selection", "percentile_request", "oracle"]
TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not TORCH, reason="the extra rl is not installed")
AGENT = "ddqn[steps=4,start_after=32,batch=8,buffer=128,validate_every=1,epoch_containers=6]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulation set of 30 containers on ten chains, as files."""
    return written_set(tmp_path_factory.mktemp("set"), containers=30, periods=80)


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_baselines_alone(folder: Path, tmp_path: Path) -> None:
    arguments = ["requests", str(folder), "--out", str(tmp_path / "run"), "--seeds", "3"]
    assert run([*arguments, *(word for name in BASELINES for word in ("--policy", name))]) == 0
    table = pl.read_parquet(tmp_path / "run" / "table.parquet")
    assert table.height == 3 * len(BASELINES)
    assert set(MEASURES) < set(table.columns)
    summary = pl.read_parquet(tmp_path / "run" / "summary.parquet")
    qos = summary.filter(policy="percentile_request", measure="qos").row(0, named=True)
    values = table.filter(policy="percentile_request")["qos"].to_numpy()
    assert qos["mean"] == pytest.approx(values.mean())
    # Student's t for three seeds
    half = 4.302653 * values.std(ddof=1) / np.sqrt(3)
    assert qos["high"] - qos["mean"] == pytest.approx(half, rel=1e-5)
    assert not (tmp_path / "run" / "training.parquet").exists()
    document = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert {one["name"] for one in document["settings"]} >= {"alpha0", "inertia_weight", "reward"}


@pytest.mark.slow
def test_the_same_command_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    policies = ["random_selection", *([AGENT] if TORCH else [])]
    for name in ("one", "two"):
        tracekit.requests(folder, policies, out=tmp_path / name / "run", epochs=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.slow
@needs_torch
def test_the_agent_is_trained_compared_and_used_again(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    policies = [word for name in (AGENT, *BASELINES) for word in ("--policy", name)]
    arguments = ["requests", str(folder), "--out", str(out), "--epochs", "2", "--sensitivity", "1"]
    assert run([*arguments, *policies]) == 0
    capsys.readouterr()
    assert not (tmp_path / ".run.training").exists()
    training = pl.read_parquet(out / "training.parquet")
    assert training["epoch"].to_list() == [1, 2]
    moved = pl.read_parquet(out / "sensitivity.parquet")
    assert {"as chosen", "alpha0=0.25", "reward=printed"} <= set(moved["variant"])
    closely = pl.read_parquet(out / "containers.parquet")
    assert closely["container"].n_unique() == 3
    html = tmp_path / "report.html"
    render(out, html)
    text = html.read_text()
    assert 'id="/claims"' in text
    assert 'id="/requests"' in text

    again = tmp_path / "again"
    model = str(out / "models" / next(iter(sorted(p.name for p in (out / "models").iterdir()))))
    assert run(["requests", str(folder), "--out", str(again), "--model", model, *policies[:2]]) == 0
    tables = [pl.read_parquet(one / "table.parquet") for one in (out, again)]
    agents = [one.filter(pl.col("policy").str.starts_with("ddqn")) for one in tables]
    # the model is tried on the chains it was not trained on: those of the first run's test
    assert agents[1].height == 1
    document = json.loads((again / "manifest.json").read_text())
    assert (
        document["set"]["facts"]["test_containers"]
        == json.loads((out / "manifest.json").read_text())["set"]["facts"]["test_containers"]
    )
    assert not (again / "models").exists()


@pytest.mark.slow
@needs_torch
def test_a_model_that_has_seen_everything(folder: Path, tmp_path: Path) -> None:
    tracekit.requests(folder, [AGENT], out=tmp_path / "run", epochs=1)
    model = next((tmp_path / "run" / "models").iterdir())
    seen = json.loads(str(np.load(model)["head"]))["about"]["trained_on"]
    small = tmp_path / "small"
    small.mkdir()
    for name, column in ((STATES, "containerID"), (MEMBERS, "containerID"), (CALLS, "UM")):
        frame = pl.read_csv(folder / name)
        frame.filter(pl.col(column).is_in(seen)).write_csv(small / name)
    with pytest.raises(TracekitError):
        tracekit.requests(small, [AGENT], out=tmp_path / "again", model=model)


def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    real_find, real_import = importlib.util.find_spec, builtins.__import__
    real_module = importlib.import_module

    def find(name: str, package: str | None = None) -> Any:
        return None if name == "torch" else real_find(name, package)

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name == "torch":
            raise ImportError(name)
        return real_import(name, *rest, **more)

    def missing(name: str, package: str | None = None) -> Any:
        if name == "torch":
            raise ImportError(name)
        return real_module(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find)
    monkeypatch.setattr(builtins, "__import__", refuse)
    monkeypatch.setattr("tracekit.sizing.agent.network.importlib.import_module", missing)


def test_without_torch_the_agent_has_the_network_that_comes_with_tracekit(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    without_torch(monkeypatch)
    study = tracekit.requests(folder, ["all"], out=tmp_path / "run")
    assert isinstance(study, Study)
    assert "ddqn" in {policy.name() for policy in study.policies}
    (network,) = answer_of_chains(study).of("agent_network")
    shipped = shipped_model(Settings())
    assert network.value == shipped.about["epochs"] == len(shipped.about["rewards"])
    capsys.readouterr()
    for trained in (["--policy", AGENT], ["--epochs", "1"], ["--assume", "alpha0=0.3"]):
        assert run(["requests", str(folder), "--out", str(tmp_path / "other"), *trained]) == 2
        assert "tracekit[rl]" in capsys.readouterr().err
