"""Rivals of a policy are searched for only where they may need fewer nodes than it does."""

from given_source import given_source
from shrink_support import varying

from tracekit.answer.fewest.study import shrink_cluster

#: Large containers come in between small ones: spread, the small ones leave the large no room.
SIZES = [(5, 5), (45, 5)] * 16


def _counted(rivals: tuple[str, ...], policy: str) -> tuple[dict[str, int], dict[str, int]]:
    load = varying([(100, 1000)] * 16, [(0, 10**9, *size) for size in SIZES], seed=1)
    study = shrink_cluster(given_source(load), policies=[policy], rivals=rivals, repeats=6)
    rows = study.frames["policies"].select("policy", "nodes").rows()
    return dict(rows), study.about["as_random"]


def test_a_rival_has_a_row_just_where_each_order_lets_it_need_fewer() -> None:
    alone = {name: _counted((), name)[0][name] for name in ("worst_fit", "best_fit", "first_fit")}
    assert alone["best_fit"] < alone["worst_fit"]
    found, _ = _counted(("best_fit",), "worst_fit")
    assert found == {name: alone[name] for name in ("worst_fit", "best_fit")}
    found, _ = _counted(("worst_fit",), "best_fit")
    assert found == {"best_fit": alone["best_fit"]}
