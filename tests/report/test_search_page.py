"""The sentences on test functions: runs that tell nothing are called so."""

from __future__ import annotations

import polars as pl

from tracekit.report.contents import search
from tracekit.report.data import Data
from tracekit.report.policies import colours
from tracekit.study import Study


def _said(*verdicts: str) -> list[str]:
    summary = pl.DataFrame({"variant": "original", "tbesk_is": verdicts})
    study = Study(name="search_functions", about={}, frames={"summary": summary})
    data = Data(studies={study.name: study})
    return [text.replace("\u00a0", " ") for text in search.verdicts(data)]


def test_runs_that_do_not_tell_are_said_not_to() -> None:
    assert _said(*["even"] * 20) == [
        (
            "On the original test functions the runs do not tell TBESK from a rival in any of 20"
            " comparisons."
        )
    ]
    assert _said("better", "worse", "worse", "even") == [
        (
            "On the original test functions TBESK is better in 1 and worse in 2 of 4 comparisons"
            " with a rival; in 1 the runs do not tell them apart."
        )
    ]
    assert _said("better") == [
        "On the original test functions TBESK is better in 1 of 1 comparison with a rival."
    ]


def _placed(**low_high: tuple[float, float]) -> Data:
    rows = [
        {"policy": name, "containers": count, "imbalance": (low + high) / 2 * count / 20}
        | {"imbalance_low": low * count / 20, "imbalance_high": high * count / 20}
        for name, (low, high) in low_high.items()
        for count in (10, 20)
    ]
    study = Study(
        name="search_placement", about={"sets": 3}, frames={"imbalance": pl.DataFrame(rows)}
    )
    return Data(studies={study.name: study})


def test_the_first_screen_of_the_experiment_names_the_most_even_and_who_is_near() -> None:
    data = _placed(random=(0.3, 0.5), first_fit=(0.1, 0.2), best_fit=(0.15, 0.35))
    said = search.answer(data)
    assert said.sentence.replace("\u00a0", " ") == (
        "first_fit and best_fit cannot be told apart: they end most even, and their intervals"
        " overlap with that of first_fit, imbalance 0.150 (0.100 to 0.200); 1 policy less even."
    )
    assert "3 drawn sets" in said.sure.replace("\u00a0", " ")
    assert "--sets 20" in said.sure


def test_policies_of_the_paper_keep_their_colours_and_others_take_the_rest() -> None:
    names = ["mine", "tbesk", "lra", *(f"other{at}" for at in range(6))]
    drawn = colours(names)
    assert drawn["lra"] == "policy-1"
    assert drawn["tbesk"] == "policy-5"
    assert len(set(drawn.values())) == len(drawn) == 6
    assert "mine" in drawn
    assert "other5" not in drawn
