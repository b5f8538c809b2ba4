"""The recommended policy, services at risk or growing, and fixed parts of requests."""

from __future__ import annotations

import dataclasses
import functools
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from kubernetes_support import (
    CREATED_MS,
    Object,
    answer,
    container,
    listed,
    node,
    owned,
    pod,
    series,
    written,
)
from plain_requests import GIB, random_use

import tracekit
from tracekit import ingest
from tracekit.answer.requests import facts_of_requests
from tracekit.base.arrays import FloatArray
from tracekit.base.study import Study, read_study
from tracekit.base.units import MS_PER_DAY
from tracekit.cluster.request_table import nothing_fixed
from tracekit.cluster.source import source_of
from tracekit.sizing.policies import (
    all_sizing_policies,
    parse_sizing_policies,
    parse_sizing_policy,
)
from tracekit.sizing.requests.judge import KEPT, judged, without_risky_cuts
from tracekit.sizing.requests.rows import amount, frame_of, growing, grown, growth_of
from tracekit.sizing.requests.study import (
    POLICIES,
    every_policy,
    margin_of,
    requests_of,
    subject_of,
)
from tracekit.sizing.use import RecordedUse
from tracekit.store.folder import open_store
from tracekit.store.views import read

VPA, PERCENTILE, MOST, ORACLE = (str(parse_sizing_policy(name)) for name in POLICIES)
WORKLOAD = {"name": "store", "store": "a store", "made_up": False}


def totals(**figures: tuple[float, float, float, int]) -> pl.DataFrame:
    """By policy: cores freed of 100, GiB freed of 100, share above, services at risk."""
    rows = [
        {
            "policy": {"vpa": VPA, "percentile": PERCENTILE, "most": MOST, "oracle": ORACLE}[name],
            "resource": resource,
            "requested_now": 100.0 * scale,
            "requested": (100.0 - freed) * scale,
            "freed": freed * scale,
            "above_share": above,
            "services_at_risk": risky if resource == "cpu" else 0,
        }
        for name, (cores, gib, above, risky) in figures.items()
        for resource, freed, scale in (("cpu", cores, 1.0), ("memory", gib, float(GIB)))
    ]
    return pl.DataFrame(rows)


def followed(frame: pl.DataFrame, risk_share: float = 0.05) -> str:
    names = frame["policy"].unique(maintain_order=True)
    return subject_of(frame, [parse_sizing_policy(name) for name in names], risk_share)


def test_the_most_there_was_without_a_margin_is_not_followed() -> None:
    best = totals(vpa=(10, 10, 0.01, 0), most=(40, 40, 0.0, 0), oracle=(60, 60, 0.0, 0))
    assert followed(best) == VPA
    # not even where the one with a margin is beyond the risk
    assert followed(totals(vpa=(10, 10, 0.2, 9), most=(40, 40, 0.0, 0))) == VPA
    assert followed(totals(most=(40, 40, 0.0, 0), oracle=(60, 60, 0.0, 0))) == MOST
    margins = [margin_of(parse_sizing_policy(name)) for name in (VPA, PERCENTILE, MOST)]
    assert margins == [0.15, 0.15, 0.0]


def test_the_fewest_services_at_risk_come_before_what_is_freed() -> None:
    assert followed(totals(vpa=(40, 40, 0.01, 4), percentile=(20, 20, 0.01, 0))) == PERCENTILE
    # at the risk is within it; what frees nothing is worth nothing
    assert followed(totals(vpa=(40, 40, 0.05, 0), percentile=(20, 20, 0.01, 0))) == VPA
    assert followed(totals(vpa=(40, 40, 0.01, 0), percentile=(0, 0, 0.01, 0))) == VPA
    # beyond the risk is out, however few are at risk
    assert followed(totals(vpa=(40, 40, 0.01, 4), percentile=(20, 20, 0.06, 0))) == VPA


def test_cores_do_not_make_up_for_bytes() -> None:
    # added up, 60 and 10 would be more than 30 and 30
    assert followed(totals(vpa=(60, 10, 0.01, 0), percentile=(30, 30, 0.01, 0))) == PERCENTILE
    # a risk in memory alone is a risk
    one = totals(vpa=(60, 60, 0.0, 0), percentile=(30, 30, 0.0, 0)).with_columns(
        above_share=pl.when(policy=pl.lit(VPA), resource=pl.lit("memory"))
        .then(0.2)
        .otherwise(pl.col("above_share"))
    )
    assert followed(one) == PERCENTILE


@pytest.mark.parametrize("seed", [1, 2, 5, 7])  # in each somebody is gone before it is judged
def test_a_study_follows_one_with_a_margin(seed: int) -> None:
    use = random_use(seed)
    study = requests_of(use, every_policy(), workload=WORKLOAD, risk_share=0.5)
    assert study.about["subject"] in {VPA, PERCENTILE}
    facts = study.about["facts"]
    end = len(use.times_ms) * use.step_ms
    alive = (use.arrival_ms < end) & (use.departure_ms > end - facts["judged_ms"])
    assert facts["containers"] == alive.sum() < len(alive)
    assert facts["services"] == len(set(use.service[alive].tolist()))


def test_all_names_every_policy_and_each_once() -> None:
    names = [str(one) for one in parse_sizing_policies(["all", "oracle"], every_policy())]
    assert {name.split("[")[0] for name in names} == set(all_sizing_policies())
    assert len(set(names)) == len(names)


#: Cores in use by each pod, and what a policy without a margin recommends.
USED = 0.25
MAXIMUM = "percentile_request[percentile=1.0,margin=0.0]"
STEPS = 60
#: Services: what their pods have beside one container of 1 core, what is reserved now, and then.
SERVICES: dict[str, tuple[Object, float, float]] = {
    "plain": ({}, 1.0, USED),
    "init": ({"initContainers": [container("3")]}, 3.0, 3.0),
    "little": ({"initContainers": [container("500m")]}, 1.0, 0.5),
    "least": ({"initContainers": [container("100m")]}, 1.0, USED),
    "kata": ({"overhead": {"cpu": "1500m"}}, 2.5, USED + 1.5),
    "both": ({"initContainers": [container("2")], "overhead": {"cpu": "1"}}, 3.0, 3.0),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pod of each service on one node; all use the same."""
    folder = tmp_path_factory.mktemp("fixed")
    files = folder / "files"
    files.mkdir()
    pods = [
        pod(f"{name}-0", meta=owned("StatefulSet", name), nodeName="n0",
            **{"containers": [container("1")], **extra})
        for name, (extra, _, _) in SERVICES.items()
    ]  # fmt: skip
    written(files / "kubernetes.json", listed(node("n0", cpu="32"), *pods))
    times = [(CREATED_MS / 1000 + 60 * step, USED) for step in range(STEPS)]
    used = [series(None, times, namespace="default", pod=f"{name}-0") for name in SERVICES]
    written(files / "container_cpu_in_use.json", answer(*used))
    ingest(files, folder / "store")
    return folder / "store"


@pytest.fixture(scope="module")
def sized(store: Path) -> Study:
    tracekit.requests(store, policies=(MAXIMUM,), out=store.parent / "sized")
    return read_study(store.parent / "sized")


def test_what_stays_is_not_freed(sized: Study) -> None:
    rows = sized.frames["services"].filter(policy=MAXIMUM, resource="cpu")
    row_by_service = {one["service"].partition("/")[2]: one for one in rows.to_dicts()}
    assert row_by_service.keys() == SERVICES.keys()
    for name, (_, now, then) in SERVICES.items():
        row = row_by_service[name]
        assert row["recommended"] == pytest.approx(USED)
        assert row["request_now"] == pytest.approx(1.0), name
        assert row["reserved_now"] == pytest.approx(now), name
        assert row["reserved_then"] == pytest.approx(then), name
        assert row["freed"] == pytest.approx(now - then), name
    total = sized.frames["policies"].filter(policy=MAXIMUM, resource="cpu").row(0, named=True)
    assert total["freed"] == pytest.approx(sum(now - then for _, now, then in SERVICES.values()))


def test_what_stays_is_a_fact(sized: Study) -> None:
    (fact,) = [one for one in facts_of_requests(sized) if one.because == "fixed"]
    expected = [then - USED for _, _, then in SERVICES.values() if then > USED]
    assert fact.value == pytest.approx(sum(expected))
    assert fact.about["services"] == len(expected)


def test_a_replay_reserves_it(store: Path, sized: Study) -> None:
    assert sized.about["subject"] == MAXIMUM
    load = source_of(
        open_store(store), None, assume=(f"requests=sized:{store.parent / 'sized'}",)
    ).load()
    at = load.resources.index("cpu_milli")
    reserved = {
        name.partition("/")[2].removesuffix("-0"): amount / 1000
        for name, amount in zip(
            load.containers.ids, load.containers.request[:, at].tolist(), strict=True
        )
    }
    assert reserved == pytest.approx({name: then for name, (_, _, then) in SERVICES.items()})


def test_the_store_has_both_parts(store: Path) -> None:
    rows = read(open_store(store), "fixed_request")
    assert rows["overhead"].drop_nulls().sort().to_list() == [1.0, 1.5]
    assert rows["init"].drop_nulls().sort().to_list() == [0.1, 0.5, 2.0, 3.0]
    assert set(rows["own_request"]) == {1.0}
    assert set(rows["unit"]) == {"cores"}


POLICY = "percentile_request"


def rising(at_noon: float = 3.0) -> RecordedUse:
    """Three services; the first uses more in the judged half, more than it requests in a part."""
    use = random_use(2)
    steps = use.values.shape[1]
    values = np.full_like(use.values, np.nan)
    values[0], values[1] = 1.0, 1e9
    first = use.service[use.measured] == 0
    values[0, steps // 2 :: 3, first] = at_noon
    return dataclasses.replace(
        use,
        values=values,
        request=np.tile((2.0, 2e9), (len(use.service), 1)),
        reserved=np.tile((2.0, 2e9), (len(use.service), 1)),
    )


@functools.cache
def study() -> Study:
    return requests_of(rising(), [parse_sizing_policy(POLICY)], workload=WORKLOAD)


@pytest.mark.parametrize(
    ("request_cores", "kept_rows"),
    [(1.15, True), (1.999, True), (2.0, False), (2.5, False), (3.5, False)],
)
def test_a_lower_request_that_is_exceeded_too_often_is_not_recommended(
    request_cores: float, kept_rows: bool
) -> None:
    use = rising()
    given: FloatArray = np.full((3, 2), (request_cores, 1.5e9))
    result = without_risky_cuts(given, use, np.full((3, 2), (2.0, 2e9)), 0.05)
    assert result.staying.tolist() == [[kept_rows, False], [False, False], [False, False]]
    assert np.isnan(result.request).tolist() == result.staying.tolist()
    again = judged(use, result.request)
    for name in ("above", "requested", "excess"):
        assert (getattr(result.judgement, name) == getattr(again, name)).all()
    exceeded = judged(use, given)
    share = float(exceeded.above.sum(axis=0)[0, 0] / exceeded.steps.sum(axis=0)[0, 0])
    assert not without_risky_cuts(given, use, np.full((3, 2), (2.0, 2e9)), share).staying.any()


def test_who_has_no_request_gets_the_first_one_though_it_is_exceeded() -> None:
    result = without_risky_cuts(
        np.full((3, 2), (1.15, 1.5e9)), rising(), np.full((3, 2), np.nan), 0.05
    )
    assert not result.staying.any()


def test_the_kept_request_is_that_of_frames_and_sums() -> None:
    rows = study().frames["services"].filter(policy=POLICY, resource="cpu")
    first = rows.filter(service="a").row(0, named=True)
    assert first["recommended"] is None
    assert (first["freed"], first[KEPT], first["at_risk"]) == (0.0, True, True)
    assert first["reserved_then"] == first["reserved_now"] == 2.0
    others = rows.filter(rows["service"] != "a")
    assert (others["freed"] > 0).all()
    assert not others[KEPT].any()
    total = study().frames["policies"].filter(policy=POLICY, resource="cpu").row(0, named=True)
    assert total["freed"] == pytest.approx(rows["freed"].sum())
    # its memory is not at risk, and is lowered
    memory = study().frames["services"].filter(policy=POLICY, resource="memory", service="a")
    assert memory["freed"][0] > 0


STEP_MS = 600_000
DAY = 144


def noise(rng: np.random.Generator, shape: tuple[int, ...], keep: float) -> FloatArray:
    """Along the first axis each value resembles the one before by ``keep``."""
    values = rng.standard_normal(shape)
    for at in range(1, shape[0]):
        values[at] = keep * values[at - 1] + math.sqrt(1 - keep**2) * values[at]
    return values


def use_of(
    seed: int, grows: FloatArray, *, days: float = 2.0, keep: float = 0.9, size: float = 0.1
) -> RecordedUse:
    """Two containers of each service, a day as a sine, growing by a share a day; (services, 2)."""
    rng = np.random.default_rng(seed)
    steps, services = round(days * DAY), len(grows)
    day = np.arange(steps)[:, None] / DAY
    values = np.stack(
        [
            (1 + 0.4 * np.sin(2 * np.pi * day))
            * (1 + grows[:, at]) ** day
            * np.exp(size * noise(rng, (steps, services), keep))
            for at in range(2)
        ]
    )
    twice = np.repeat(values, 2, axis=2)
    twice[1] *= 1e9
    containers = 2 * services
    begin = np.zeros(containers, dtype=np.int64)
    return RecordedUse(
        services=tuple(f"s{at}" for at in range(services)),
        service=np.repeat(np.arange(services), 2),
        request=np.tile((4.0, 4e9), (containers, 1)),
        limit=np.full((containers, 2), np.nan),
        reserved=np.tile((4.0, 4e9), (containers, 1)),
        fixed=nothing_fixed(containers),
        arrival_ms=begin,
        departure_ms=begin + steps * STEP_MS,
        times_ms=np.arange(steps) * STEP_MS,
        step_ms=STEP_MS,
        values=twice.astype(np.float32),
        measured=np.arange(containers),
    )


@pytest.mark.parametrize("keep", [0.0, 0.9, 0.98])
@pytest.mark.parametrize("days", [2, 4, 14])
def test_services_that_stand_still_are_not_named(keep: float, days: int) -> None:
    named = 0
    for seed in range(20):
        use = use_of(seed, np.zeros((30, 2)), days=days, keep=keep)
        named += int(growing(use, growth_of(use)).any())
    # a study names one by chance in 5 % at most: of 20 more than 4 in fewer than 1 of 1,000
    assert named <= 4


@pytest.mark.parametrize("days", [2, 3, 15])
def test_a_planted_growth_is_within_its_interval(days: int) -> None:
    planted = np.zeros((8, 2))
    planted[3], planted[5, 0] = 0.1, -0.05
    use = use_of(1, planted, days=days, keep=0.5, size=0.01)
    grown = growth_of(use)
    assert (grown[..., 1] <= planted).all()
    assert (planted <= grown[..., 2]).all()
    assert np.argwhere(growing(use, grown)).tolist() == [[3, 0], [3, 1]]
    assert frame_of(use, grown).filter("grows")["service"].to_list() == ["s3", "s3"]


def test_with_less_than_two_days_or_a_missing_hour_nothing_is_known() -> None:
    assert np.isnan(growth_of(use_of(1, np.zeros((2, 2)), days=1.9))).all()
    use = use_of(1, np.zeros((2, 2)))
    use.values[0, 60:66, :2] = np.nan
    grown = growth_of(use)
    assert np.isnan(grown[0, 0]).all()
    assert np.isfinite(grown[1]).all()


def test_who_grows_keeps_the_request_and_it_is_known_for_how_long() -> None:
    planted = np.zeros((5, 2))
    planted[2] = 0.1
    study = requests_of(use_of(3, planted, size=0.0002), every_policy(), workload=WORKLOAD)
    rows = study.frames["services"].filter(service="s2")
    assert rows["recommended"].to_list() == [None] * rows.height
    assert set(rows["freed"]) == {0.0}
    assert (study.frames["services"].filter(service="s1", policy="oracle")["freed"] > 0).all()
    (row,) = grown(study).filter(resource="cpu").to_dicts()
    assert row["service"] == "s2"
    assert row["growth_per_day_share"] == pytest.approx(0.1, abs=0.01)
    # from 1.4 x 1.1**1.25, the second day's peak, to 4 there are 9.8 days
    assert row["holds_ms"] / MS_PER_DAY == pytest.approx(9.8, abs=0.5)
    calm = requests_of(use_of(3, np.zeros((5, 2)), size=0.01), every_policy(), workload=WORKLOAD)
    assert grown(calm).is_empty()


def test_who_grows_beyond_the_request_gets_what_is_recommended() -> None:
    planted = np.zeros((2, 2))
    planted[0, 0] = 1.5
    study = requests_of(use_of(3, planted, size=0.01), every_policy(), workload=WORKLOAD)
    row = study.frames["services"].filter(service="s0", resource="cpu", policy="oracle").to_dicts()
    assert row[0]["recommended"] > 4
    assert row[0]["freed"] < 0
    assert grown(study)["holds_ms"].to_list() == [0.0]


def test_an_amount_has_three_digits_and_whole_ones_from_a_hundred_on() -> None:
    given = (None, 0.0, 12345.4, 100.0, 99.95, 10.0, 9.996, 1.0, 0.99951, -0.1234, -0.0001)
    assert [amount(one, "cpu") for one in given] == [
        "-", "0", "12,345", "100", "100.0", "10.0", "10.00", "1.00", "1.000", "-0.123", "0.000"
    ]  # fmt: skip
