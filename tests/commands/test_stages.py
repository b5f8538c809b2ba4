"""Stages of a whole run: one that has nothing to do is neither begun nor named."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tracekit.base.constants import TRUTH
from tracekit.commands._stages import BindStage
from tracekit.store.folder import Manifest, Store


@pytest.mark.parametrize(
    ("seated", "k1", "due"), [(True, 0.2, True), (True, None, False), (False, 0.2, False)]
)
def test_containers_are_bound_only_where_seats_and_a_fit_are_known(
    tmp_path: Path, seated: bool, k1: float | None, due: bool
) -> None:
    (tmp_path / TRUTH).mkdir()
    if seated:
        for name in ("monitoring", "topology"):
            (tmp_path / TRUTH / f"{name}.csv").write_text("")
    fit = tmp_path / "fit"
    fit.mkdir()
    pl.DataFrame({"k1": [k1]}, schema={"k1": pl.Float64}).write_parquet(fit / "pooled.parquet")
    store = Store(tmp_path / "store", Manifest(tool_version=""))
    pl.DataFrame({"instance": ["a"]}).write_parquet(fit / "rows.parquet")
    assert BindStage(store, tmp_path, fit, tmp_path / "bound").due() == due
