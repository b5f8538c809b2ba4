"""Prices by instance type: whom they reach, what is unknown then, and who is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cluster_support import stored, workload

from tracekit.base.constants import INSTANCE_TYPES
from tracekit.base.errors import TracekitError
from tracekit.cluster.circumstances import money_of, read_prices
from tracekit.cluster.enlarged import with_more
from tracekit.cluster.on_nodes import on_nodes
from tracekit.cluster.source import shared
from tracekit.cluster.workload import Workload
from tracekit.commands.shell import run
from tracekit.replay.runs.replayer import fingerprint
from tracekit.store.folder import open_store

TODAY, FORMERLY = INSTANCE_TYPES


def _nodes(*rows: tuple[str, dict[str, str], str]) -> list[str]:
    """nodes.csv with labels and recorded prices."""
    header = "node,cpu_milli,memory_bytes,price_per_hour,labels"
    return [header, *(
        f'{name},4000,8000,{price},"{json.dumps(labels).replace(chr(34), chr(34) * 2)}"'
        for name, labels, price in rows
    )]  # fmt: skip


NODES = _nodes(
    ("n0", {TODAY: "large"}, "9"),
    ("n1", {FORMERLY: "small"}, ""),
    ("n2", {TODAY: "small", FORMERLY: "older"}, ""),
    ("n3", {}, "5"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored(tmp_path_factory.mktemp("priced"), {"nodes.csv": NODES}).path


@pytest.fixture
def load(store: Path) -> Workload:
    return workload(open_store(store))


def _prices(load: Workload) -> dict[str, float]:
    return dict(zip(load.nodes.ids, money_of(load).price_per_hour.tolist(), strict=True))


def test_a_price_reaches_the_nodes_of_its_type_and_no_other(load: Workload) -> None:
    before = money_of(load)
    assert (before.unpriced_types, before.unpriced_nodes) == (("small",), 2)
    assert before.per_hour() is None
    priced = read_prices("small=0.25").applied(load)
    assert _prices(priced) == {"n0": 9.0, "n1": 0.25, "n2": 0.25, "n3": 5.0}
    money = money_of(priced)
    assert (money.unpriced_types, money.unpriced_nodes) == ((), 0)
    assert money.per_hour() == 14.5
    staying = np.array([one in {"n1", "n3"} for one in priced.nodes.ids])
    assert money.per_hour(staying) == 5.25
    assert _prices(load)["n0"] == 9.0


def test_what_is_stated_goes_before_the_table_and_the_table_before_the_record(
    load: Workload, tmp_path: Path
) -> None:
    table = tmp_path / "prices.csv"
    table.write_text("instance_type,region,price_per_hour\nlarge,x,2\nsmall,x,1\nhuge,x,9\n")
    priced = read_prices(f"{table},large=3").applied(load)
    assert _prices(priced) == {"n0": 3.0, "n1": 1.0, "n2": 1.0, "n3": 5.0}
    # what was used is the assumption, so that it can be said again without the file
    assert priced.provenance.assumptions["prices"] == "large=3.0,small=1.0"
    again = read_prices(str(priced.provenance.assumptions["prices"])).applied(load)
    assert fingerprint(again) == fingerprint(priced) != fingerprint(load)


def test_types_and_prices_go_with_their_nodes(load: Workload, tmp_path: Path) -> None:
    priced = read_prices("small=0.25").applied(load)
    at = priced.nodes.ids.index("n1")
    more = with_more(on_nodes(priced, np.array([at])), np.array([0, 0]))
    assert more.nodes.instance_types == ("small",) * 3
    assert money_of(more).per_hour() == 0.75
    with shared(priced, tmp_path / "shared") as result:
        assert result.load().nodes.instance_types == priced.nodes.instance_types


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("smal=1", "small"),
        ("small=1,tiny=1", "large"),
        ("small", "m6i.4xlarge=0.768"),
        ("small=1,small=2", "m6i.4xlarge=0.768"),
        ("small=cheap", "cheap"),
        ("small=-1", "-1"),
        ("small=inf", "inf"),
        ("nowhere.csv", "nowhere.csv"),
    ],
)
def test_what_cannot_be_a_price_is_refused(text: str, named: str, load: Workload) -> None:
    with pytest.raises(TracekitError) as raised:
        read_prices(text).applied(load)
    assert named in f"{raised.value} {raised.value.hint}"


def test_a_run_is_priced_by_options_and_by_settings_alike(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["-q", "replay", str(store), "--policy", "best_fit", "--repeat", "1"]
    typed = ["--price", "small=0.25", "--price", "large=2", "--currency", "USD"]
    assert run([*arguments, "--out", "typed", *typed]) == 0
    Path("tracekit.toml").write_text('currency = "USD"\n[prices]\nsmall = 0.25\nlarge = 7\n')
    assert run([*arguments, "--out", "stated", "--price", "large=2"]) == 0
    summaries, assumed = [], []
    for out in ("typed", "stated"):
        manifest = json.loads((tmp_path / out / "manifest.json").read_text())
        assumed.append(manifest["workload"]["assumptions"])
        summaries.append(pl.read_parquet(tmp_path / out / "summary.parquet"))
    assert assumed[0] == assumed[1]
    assert assumed[0]["prices"] == "large=2.0,small=0.25"
    assert assumed[0]["currency"] == "USD"
    assert summaries[0].equals(summaries[1])
    assert summaries[0]["cost_per_hour"].is_not_null().all()
    assert run([*arguments, "--out", "none", "--price", "smal=1"]) == 2
    assert run([*arguments, "--out", "none", "--currency", "not a code"]) == 2
    assert not (tmp_path / "none").exists()
