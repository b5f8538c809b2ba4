"""The page on interference: what it shows of a proxy, of a fit, and of what was bound."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from report_results_support import results
from report_support import made_up

from tracekit.report.data import Data
from tracekit.report.figures import get_figure
from tracekit.verbs.run import run


def data(**changed: pl.DataFrame) -> Data:
    base, made = made_up(), results(40)
    made |= {name.replace("_", "/", 1): frame for name, frame in changed.items()}
    base._results = lambda name: made.get(name, pl.DataFrame())
    return base


def test_shared_cores_are_counted() -> None:
    figure = get_figure("interference_socket")
    frame = results(40)["bind/socket"].with_columns(
        container=pl.when(
            (pl.col("policy") == "lowest_free") & (pl.col("core") == 0) & (pl.col("thread") == 1)
        )
        .then(pl.lit("other"))
        .otherwise(pl.col("container"))
    )
    said = figure.takeaway(figure.prepare(data(bind_socket=frame)))
    assert said.replace("\u00a0", " ") == (
        "1 core of this socket is shared by several containers under lowest_free,"
        " and none under interference."
    )


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        (
            {
                "interference": 60.0,
                "whole_cores": 75.0,
                "least_allocated": 160.0,
                "recorded": 240.0,
            },
            "20 % less than under whole_cores, which knows no fit, and 75 % less than as recorded.",
        ),
        (
            {"interference": 60.0, "lowest_free": 240.0},
            "75 % less than under lowest_free.",
        ),
        ({"lowest_free": 60.0}, "60.0 vCPUs, in one order of arrival alone."),
    ],
)
def test_what_binding_saves_is_told_against_the_best_that_knows_no_fit(
    lost: dict[str, float], said: str
) -> None:
    """The audit's finding: it was told against whoever shares cores needlessly."""
    assert _told({name: [value] for name, value in lost.items()}).endswith(said)


def test_what_is_lost_as_recorded_is_not_compared_where_other_vcpus_are_bound() -> None:
    lost = {"whole_cores": [80.0], "recorded": [240.0]}
    assert "less than as recorded" in _told(lost, {"whole_cores": 1000, "recorded": 990})
    said = _told(lost, {"whole_cores": 1000, "recorded": 800})
    assert "less than as recorded" not in said
    assert said.endswith(
        "The recorded sets have 800 vCPUs, the others as many as is requested, 1,000: what is lost"
        " as recorded is not of the same load."
    )


def _told(
    lost: dict[str, list[float]],
    bound: dict[str, int] | None = None,
    share: dict[str, float] | None = None,
) -> str:
    """What the figure says of lost vCPUs in each order of arrival, by way to bind."""
    rows = [
        {
            "repeat": at,
            "policy": name,
            "inflation_vcpus": value,
            "inflation_mean_fraction": share[name] + 1e-5 * at if share else 0.1,
            **({"bound_vcpus": bound[name]} if bound else {}),
        }
        for name, values in lost.items()
        for at, value in enumerate(values)
    ]
    figure = get_figure("interference_inflation")
    frame = figure.prepare(data(bind_repeats=pl.DataFrame(rows)))
    found = f"{figure.takeaway(frame)} {figure.note(frame)}".rstrip()
    return found.replace("\u00a0", " ")


def test_of_several_orders_less_is_said_only_beyond_chance() -> None:
    wide = [60.0, 70.0, 65.0, 80.0, 50.0, 66.0]
    told = _told(
        {
            "interference": [value + 80 for value in wide],
            "whole_cores": wide,
            "whole_cores_emptiest": [61.0, 69.0, 66.0, 79.0, 52.0, 65.0],
            "recorded": [240.0] * 6,
        }
    )
    assert told.startswith("Under whole_cores neighbours cost 65.2 vCPUs, ")
    assert "in 6 orders of arrival, 73 % less than as recorded." in told
    assert "Within chance of it: whole_cores_emptiest." in told
    assert told.endswith("Choosing by the fit costs 123 % more than whole_cores.")
    # with few orders more nothing is told of those that lie as far apart as orders do
    alike = _told({"interference": wide, "whole_cores": wide[::-1], "recorded": [*wide[1:], 61.0]})
    assert "less than" not in alike
    assert "costs" not in alike.split("neighbours cost")[1]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "out"
    run("synth:tiny", out, policies=["first_fit"])
    return out


@pytest.mark.slow
def test_a_whole_run_fits_and_binds_what_a_made_up_trace_knows(whole: Path) -> None:
    for name in ("fit/manifest.json", "fit/coefficients.parquet", "bound/summary.parquet"):
        assert (whole / name).is_file()
    lost = dict(pl.read_parquet(whole / "bound" / "summary.parquet")
                .select("policy", "inflation_vcpus").iter_rows())  # fmt: skip
    assert lost["interference"] < min(lost["lowest_free"], lost["least_allocated"])
    assert 'id="figure-interference_inflation"' in (whole / "report.html").read_text()


def test_the_socket_is_shown_before_by_the_fit_and_under_the_best_way() -> None:
    figure = get_figure("interference_socket")
    sockets = results(40)["bind/socket"]
    best = sockets.filter(policy="interference").with_columns(policy=pl.lit("whole_cores"))
    lost = {"interference": 137.6, "whole_cores": 82.1, "lowest_free": 240.0}
    repeats = pl.DataFrame({"policy": list(lost), "inflation_vcpus": list(lost.values())})
    both = pl.concat([best, sockets])
    frame = figure.prepare(data(bind_socket=both, bind_repeats=repeats))
    assert frame["policy"].unique(maintain_order=True).to_list() == [
        "lowest_free", "interference", "whole_cores"
    ]  # fmt: skip
    assert figure.takeaway(frame).endswith("none under interference, and none under whole_cores.")
    renamed = frame.with_columns(pl.col("policy").replace({"lowest_free": "recorded"}))
    assert " as recorded, none under interference" in figure.takeaway(renamed)


def test_who_is_best_for_the_mean_container_is_told_where_it_is_another() -> None:
    lost = {
        "interference": [137.0 + at for at in range(6)],
        "whole": [82.0 + at for at in range(6)],
    }
    share = {"interference": 0.0267, "whole": 0.0302}
    said = _told(lost, share=share)
    assert "each counting alike, interference is best: 2.7 % at the mean, 3.0 % under whole" in said
    assert "counting alike" not in _told(lost, share={"interference": 0.04, "whole": 0.03})
