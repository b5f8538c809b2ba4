"""The figure of nodes by their use: a node whose use nobody recorded is not drawn as idle."""

from __future__ import annotations

import polars as pl
import pytest

from tracekit.report.data import Data
from tracekit.report.figures import get_figure


def data(assumed: str = "keep") -> Data:
    nodes = pl.DataFrame(
        {
            "policy": ["observed"] * 4 + ["best_fit"] * 4,
            "node": ["a", "b", "c", "d"] * 2,
            "cpu_mean_fraction": [0.4, 0.5, 0.0, 0.0] * 2,
        }
    )
    profile = pl.DataFrame({"node": ["a", "b"], "cpu_max": [0.4, 0.5]})
    return Data(
        fetch=lambda _name, _params: profile,
        run={"workload": {"assumptions": {"background": assumed}}, "policies": []},
        run_frames={"nodes": nodes},
    )


def test_nodes_without_recorded_use_are_left_out_and_counted() -> None:
    figure = get_figure("node_distribution")
    frame = figure.prepare(data())
    assert frame["of_nodes"].unique().to_list() == [2]
    said = figure.takeaway(frame).replace("\u00a0", " ")
    assert "0 less than 20 %" in said
    assert "2 further nodes, whose use is not recorded, are left out." in said


def test_the_title_says_whether_load_gets_less_even() -> None:
    """Half of a node each in production; all of one and none of the other under best fit.

    Without orders of arrival chance is not ruled out, whatever the numbers are.
    """
    nodes = pl.DataFrame(
        {
            "policy": ["observed"] * 2 + ["best_fit"] * 2,
            "node": ["a", "b"] * 2,
            "cpu_mean_fraction": [0.5, 0.5, 0.95, 0.1],
        }
    )
    figure = get_figure("node_distribution")
    run = {"workload": {"assumptions": {}}, "policies": []}
    none = pl.DataFrame()
    frame = figure.prepare(Data(fetch=lambda *_: none, run=run, run_frames={"nodes": nodes}))
    said = figure.takeaway(frame).replace("\u00a0", " ")
    assert said.startswith(
        "So few orders of arrival do not tell whether CPU use is spread more evenly under best_fit"
        " than in production: the standard deviation of the nodes' means is 42 %, against 0 %."
    )
    assert "0 (in production) and 1 (under best_fit) of 2 nodes use more than 90 %" in said


def test_where_the_use_of_containers_is_all_there_is_every_node_counts() -> None:
    figure = get_figure("node_distribution")
    said = figure.takeaway(figure.prepare(data("none")))
    assert "left out" not in said


def test_where_the_use_of_nodes_is_the_sum_of_containers_an_empty_node_counts() -> None:
    one = data()
    one.run = {"workload": {"quantities": {"use of nodes": "inferred"}}, "policies": []}
    frame = get_figure("node_distribution").prepare(one)
    assert frame["of_nodes"].unique().to_list() == [4]
    assert "left out" not in get_figure("node_distribution").takeaway(frame)


def test_the_resource_that_binds_is_drawn_first_and_named() -> None:
    """Half of the nodes have GPUs, of which far more is requested than of CPU."""
    nodes = pl.DataFrame(
        {
            "policy": ["best_fit"] * 4 + ["worst_fit"] * 4,
            "node": ["a", "b", "c", "d"] * 2,
            "cpu_mean_fraction": [0.1, 0.2, 0.1, 0.2] * 2,
            "gpu_milli_mean_fraction": [0.95, 0.1, None, None, 0.5, 0.55, None, None],
        }
    )
    steps = pl.DataFrame(
        {
            "policy": ["best_fit", "worst_fit"],
            "cpu_allocated_share": [0.1, 0.1],
            "gpu_milli_allocated_share": [0.9, 0.8],
        }
    )
    figure = get_figure("node_distribution")
    frame = figure.prepare(
        Data(run={"workload": {}, "policies": []}, run_frames={"nodes": nodes, "steps": steps})
    )
    assert frame["resource"].unique(maintain_order=True).to_list() == ["gpu_milli", "cpu"]
    said = figure.takeaway(frame).replace("\u00a0", " ")
    assert "whether GPU demand is spread more evenly under worst_fit than under best_fit" in said
    assert (
        "On 1 (under best_fit) and 0 (under worst_fit) of 2 nodes with GPU more than 90 %" in said
    )
    drawn = figure.draw(frame)
    assert drawn.layout.xaxis.title.text == "Mean GPU demand [% of node]"
    assert figure.table(frame)["resource"].unique(maintain_order=True).to_list() == ["GPU", "CPU"]
    scarce = frame.filter(resource="gpu_milli")
    assert scarce["of_nodes"].unique().to_list() == [2]


def test_a_node_of_exactly_all_it_has_is_not_drawn_beyond_that() -> None:
    use = [1.0, 1.0000001, 0.9999999, 0.95, 0.94, 1.01, 0.7, 0.0]
    nodes = pl.DataFrame(
        {
            "policy": ["best_fit"] * len(use),
            "node": [f"n{at}" for at in range(len(use))],
            "cpu_mean_fraction": pl.Series(use, dtype=pl.Float32),
        }
    )
    frame = get_figure("node_distribution").prepare(
        Data(run={"workload": {}, "policies": []}, run_frames={"nodes": nodes})
    )
    held = {row["use_from"]: row["nodes"] for row in frame.to_dicts() if row["nodes"]}
    assert held == {0.0: 1, 0.7: 1, 0.9: 1, 0.95: 4, 1.0: 1}


def _beside(resource: str, side: str | None, change: str) -> list[dict[str, object]]:
    """Two rows of a resource as they are drawn, of which the second differs so from the first."""
    shared = {
        "resource": resource, "use_from": 0.0, "nodes": 8, "of_nodes": 8, "hot": 0, "idle": 2,
        "median": 0.5, "std": 0.1, "unknown": 0, "shade": "other", "side": side,
        "apart": bool(side), "change": change, "sparse": "",
    }  # fmt: skip
    return [{"policy": name, **shared} for name in ("observed", "mine")]


@pytest.mark.parametrize(
    ("rows", "begins", "also"),
    [
        (
            [
                ("gpu_milli", "", "none"),
                ("cpu", "", "+12 pp (-1 to 25)"),
                ("memory", "worse", "+9"),
            ],
            (
                "Memory use is spread less evenly under mine than in production: the standard"
                " deviation of memory use differs by +9. That of GPU demand is the same; that of"
                " CPU use differs by +12 pp (-1 to 25), within chance. 0 of 8 nodes use more than"
                " 90 % of their memory"
            ),
            True,
        ),
        (
            [("gpu_milli", "", "none"), ("cpu", "", "+12 pp (-1 to 25)")],
            (
                "CPU use is spread alike under mine and in production, within chance: the standard"
                " deviation of CPU use differs by +12 pp (-1 to 25). 0 of 8 nodes"
            ),
            False,
        ),
        (
            [("gpu_milli", "", "none"), ("cpu", "", "none")],
            (
                "GPU demand is spread alike under mine and in production: the standard deviation of"
                " GPU demand is the same. On 0 of 8 nodes with GPU"
            ),
            False,
        ),
        (
            [("gpu_milli", "better", "-4"), ("cpu", "worse", "+2")],
            (
                "GPU demand is spread more evenly under mine than in production: the standard"
                " deviation of GPU demand differs by -4. That of CPU use differs by +2. On 0 of 8"
            ),
            True,
        ),
    ],
)
def test_the_title_is_of_a_resource_that_tells_the_two_apart(
    rows: list[tuple[str, str, str]], begins: str, also: bool
) -> None:
    frame = pl.DataFrame([one for row in rows for one in _beside(*row)])
    said = get_figure("node_distribution").takeaway(frame).replace("\u00a0", " ")
    assert said.startswith(begins)
    assert ("That of" in said) is also
    assert "by none" not in said
