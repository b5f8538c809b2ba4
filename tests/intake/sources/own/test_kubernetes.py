"""What a case folder cannot say of kubectl's lists: every quantity, and a store made anew."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes_support import listed, node, pod, written

from tracekit.base.errors import TracekitError
from tracekit.base.files import replacing
from tracekit.intake.ingest import ingest
from tracekit.intake.sources.own._kubernetes.requests import amount
from tracekit.store.folder import open_store


@given(
    st.decimals(0, 10**9, places=3),
    st.sampled_from([("", 0), ("m", -3), ("k", 3), ("M", 6), ("u", -6), ("n", -9), ("G", 9)]),
)
def test_a_decimal_quantity_is_exact_to_the_last_bit(
    number: Decimal, suffix: tuple[str, int]
) -> None:
    assert amount(f"{number}{suffix[0]}") == float(number.scaleb(suffix[1]))


@pytest.fixture
def later(tmp_path: Path) -> tuple[Path, Path]:
    """A folder with a second list, and the store of the first one."""
    folder, store = tmp_path / "mine", tmp_path / "cron"
    folder.mkdir()
    written(folder / "a.json", listed(node("n1"), pod("old", nodeName="n1")))
    ingest(folder, store)
    came = {"creationTimestamp": "2026-01-05T00:00:00Z"}
    written(folder / "b.json", listed(node("n1"), pod("new", meta=came, nodeName="n1")))
    return folder, store


def test_what_lies_in_a_store_that_is_made_anew_stays(later: tuple[Path, Path]) -> None:
    folder, store = later
    (store / "runs" / "monday").mkdir(parents=True)
    (store / "runs" / "monday" / "run.txt").write_text("a run")
    (store / "notes.txt").write_text("mine")
    (store / "latest").symlink_to("runs/monday")
    os.mkfifo(store / "pipe")
    (store / ".manifest.json.new").write_text("half")
    assert ingest(folder, store).anew == "b.json"
    assert (store / "latest" / "run.txt").read_text() == "a run"
    assert (store / "latest").is_symlink()
    assert (store / "notes.txt").read_text() == "mine"
    assert (store / "pipe").is_fifo()
    assert not (store / ".manifest.json.new").exists()
    assert ingest(folder, store).ingested == []


def test_what_a_killed_ingest_left_beside_the_store_goes_with_the_next(
    later: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, store = later
    monkeypatch.setattr("tracekit.base.files.replacing.shutil.rmtree", lambda *_args, **_more: None)
    ingest(folder, store)
    monkeypatch.undo()
    assert len(list(store.parent.glob(".cron.*"))) == 1
    ingest(folder, store)
    assert sorted(one.name for one in store.parent.iterdir()) == ["cron", "mine"]


def test_nobody_gets_into_a_store_that_is_made_anew(
    later: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, store = later
    real, moments = replacing._put_in_place, []

    def put_in_place(made: Path, place: Path) -> None:
        for moment in ("before", "after"):
            with pytest.raises(TracekitError):
                ingest(folder, store)
            moments.append((moment, len(open_store(store).manifest.parts("container"))))
            if moment == "before":
                real(made, place)

    monkeypatch.setattr(replacing, "_put_in_place", put_in_place)
    ingest(folder, store)
    assert moments == [("before", 1), ("after", 2)]


def test_a_store_stays_where_it_cannot_be_made_anew(later: tuple[Path, Path]) -> None:
    folder, store = later
    second = folder / "b.json"
    second.write_text(second.read_text()[:200])
    with pytest.raises(TracekitError):
        ingest(folder, store)
    second.unlink()
    assert ingest(folder, store).ingested == []
    assert sorted(one.name for one in store.parent.iterdir()) == ["cron", "mine"]
