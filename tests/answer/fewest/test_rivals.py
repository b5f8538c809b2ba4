"""Rivals of a policy are searched for only where they may need fewer nodes than it does."""

from shrink_support import given_source, varying

from tracekit.answer.fewest.study import shrink_cluster
from tracekit.policy.entrant import Entrants

SIZES = [(10, 5), (10, 5), (10, 5), *[(10, 5), (60, 5)] * 10]


def _counted(policy: str, *rivals: str) -> tuple[dict[str, int], dict[str, int]]:
    load = varying([(100, 1000)] * 24, [(0, 10**9, *size) for size in SIZES], seed=1)
    study = shrink_cluster(
        given_source(load),
        policies=Entrants.of([policy]).chosen,
        rivals=Entrants.of(rivals).chosen,
        repeats=6,
    )
    rows = study.frames["policies"].select("policy", "nodes").rows()
    return dict(rows), study.about.get("as_random", {})


def test_a_rival_has_a_row_just_where_each_order_lets_it_need_fewer() -> None:
    alone = {name: _counted(name)[0][name] for name in ("worst_fit", "random")}
    assert alone["worst_fit"] < alone["random"]
    assert _counted("random", "worst_fit") == (alone, {})
    assert _counted("worst_fit", "random")[0] == {"worst_fit": alone["worst_fit"]}
