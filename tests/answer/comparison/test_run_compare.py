"""Two runs beside each other: changes, intervals, thresholds, and folders that are no runs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from answer_support import resealed
from cluster_support import parquet_folder

from tracekit.answer.comparison.facts import facts_of_comparison
from tracekit.answer.comparison.run_compare import compare_runs
from tracekit.base.errors import TracekitError
from tracekit.base.facts import answer_of
from tracekit.commands.replay import replay
from tracekit.commands.shell import run
from tracekit.replay.measures import compared, find_measure
from tracekit.replay.runs.thresholds import parse_threshold
from tracekit.report.sentences import short
from tracekit.report.terminal import summary

SMALL = "paper000[containers=60,nodes=4]"
FULLER = "paper000[containers=60,nodes=4,target_alloc_fraction=0.85]"


def made(out: Path, workload: str, repeats: int = 1, seed: int = 0) -> Path:
    replay(None, ["lra", "worst_fit"], out=out, workload=workload, repeats=repeats, seed=seed)
    return out


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return {
        "base": made(folder / "base", SMALL),
        "fuller": made(folder / "fuller", FULLER),
        "often": made(folder / "often", SMALL, repeats=8),
        "often fuller": made(folder / "often-fuller", FULLER, repeats=8),
        "other seeds": made(folder / "other-seeds", SMALL, repeats=8, seed=50),
    }


def test_a_run_is_the_same_as_itself(runs: dict[str, Path]) -> None:
    study = compare_runs(runs["often"], runs["often"])
    changes = study.frames["changes"]
    assert set(changes["verdict"]) == {"same"}
    assert changes["change"].to_list() == [0.0] * changes.height
    columns = pl.read_parquet(runs["often"] / "summary.parquet").columns
    assert set(changes["measure"]) <= set(compared(columns))
    assert study.about["settings"] == []


def test_changes_are_those_of_the_summaries(runs: dict[str, Path]) -> None:
    study = compare_runs(runs["base"], runs["fuller"])
    for row in study.frames["changes"].iter_rows(named=True):
        one, other = (
            pl.read_parquet(runs[name] / "summary.parquet").filter(policy=row["policy"])[
                row["measure"]
            ][0]
            for name in ("base", "fuller")
        )
        assert (row["base"], row["new"]) == (one, other)
        assert row["change"] == pytest.approx(other - one)
        assert row["change_low"] is None
    assert study.frames["settings"].rows() == [("target_alloc_fraction", "0.75", "0.85")]
    assert not study.about["other_workload"]


def test_runs_of_other_workloads_are_held_to_no_threshold_beside_the_base(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    larger, out = made(tmp_path / "larger", SMALL.replace("nodes=", "nodes=1")), tmp_path / "out"
    call = ["compare", str(runs["base"]), str(larger), "--out", str(out), "--fail-if"]
    assert run([*call, "imbalance_mean > 99 * base"]) == 2
    assert "different workloads" in capsys.readouterr().err
    assert not out.exists()
    assert run([*call, "imbalance_mean > 99"]) == 0


@pytest.mark.parametrize("staying", ["", "often "])
def test_no_measure_calls_a_run_better_that_leaves_containers_out(
    runs: dict[str, Path], staying: str
) -> None:
    """Nor one worse that places them: what is missing flatters all but the count of it."""
    runs = {"base": runs[staying.strip() or "base"], "fuller": runs[f"{staying}fuller"]}
    for base, new, forbidden in (("base", "fuller", "better"), ("fuller", "base", "worse")):
        study = compare_runs(runs[base], runs[new])
        changes = study.frames["changes"].filter(policy="lra")
        missing = changes.filter(measure="pending")
        placed = missing["base"][0] - missing["new"][0]
        assert set(changes["placed_change"]) == {placed}
        assert missing["verdict"][0] not in {"same", "alike", "within chance"}
        assert (placed < 0) == (new == "fuller")
        rows = changes.filter(~pl.col("measure").str.starts_with("pending"))
        assert forbidden not in set(rows["verdict"])
        flattered = rows.filter(verdict="not comparable")
        assert flattered.height or staying  # in several orders chance may explain all of it
        for row in flattered.iter_rows(named=True):
            measure = find_measure(row["measure"])
            assert measure is not None
            assert ((row["change"] < 0) == (measure.better == "low")) == (new == "fuller")


def test_repeats_give_intervals_around_the_mean(runs: dict[str, Path]) -> None:
    changes = compare_runs(runs["often"], runs["often fuller"]).frames["changes"]
    assert changes["paired"].all()
    assert (changes["change_low"] <= changes["change"] + 1e-12).all()
    assert (changes["change"] <= changes["change_high"] + 1e-12).all()
    moved = changes["new"] - changes["base"]
    assert moved.to_list() == pytest.approx(changes["change"].to_list(), abs=1e-9)
    mean = changes.filter(measure="cpu_mean_fraction")
    assert set(mean["verdict"]) <= {"changed", "within chance"}  # neither end is better
    assert (mean["change"] > 0).all()
    free = changes.filter(measure="memory_spread_mean_fraction")
    assert set(free["verdict"]) <= {"better", "worse", "within chance"}


def test_other_seeds_are_not_paired_and_differ_by_chance_only(runs: dict[str, Path]) -> None:
    changes = compare_runs(runs["often"], runs["other seeds"]).frames["changes"]
    assert not changes["paired"].any()
    names = changes.filter(measure="imbalance_mean")["verdict"].to_list()
    assert set(names) <= {"within chance", "same"}


@pytest.mark.parametrize(("base", "new"), [("base", "fuller"), ("base", "often fuller")])
def test_with_one_order_on_a_side_nothing_is_better_or_worse(
    runs: dict[str, Path], base: str, new: str
) -> None:
    changes = compare_runs(runs[base], runs[new]).frames["changes"].filter(policy="lra")
    assert set(changes["verdict"]) <= {"same", "alike", "cannot be told", "not comparable"}
    assert changes.filter(verdict="cannot be told").height > 5
    # and it is no bar to a threshold: that compares values
    gate = "lra: cpu_mean_fraction > 1.05 * base"
    assert (
        compare_runs(runs[base], runs[new], fail_if=[parse_threshold(gate)])
        .frames["thresholds"]["failed"]
        .all()
    )


@pytest.mark.parametrize(
    ("measure", "base", "new", "expected"),
    [
        ("memory_max_fraction", 0.5409, 0.5414, "alike"),  # 54.1 % both
        ("cpu_overload_mean_fraction", 0.00003, 0.00006, "alike"),  # under 0.01 % both
        ("qos_share", 0.9980, 0.9986, "alike"),  # less than a tenth of a point
        ("imbalance_mean", 0.046_91, 0.046_94, "alike"),  # 0.0469 both
        ("imbalance_mean", 0.046_91, 0.046_91, "same"),
        ("imbalance_mean", 0.0469, 0.0463, "better"),
        ("memory_max_fraction", 0.54, 0.56, "worse"),
        ("overloaded_node_steps", 2.0, 8.0, "worse"),
    ],
)
def test_a_change_that_nobody_sees_is_neither_better_nor_worse(
    tmp_path: Path, measure: str, base: float, new: float, expected: str
) -> None:
    for name, value in (("one", base), ("other", new)):
        replay(None, ["lra"], out=tmp_path / name, workload=SMALL, repeats=8)
        for table in ("summary", "repeats"):
            path = tmp_path / name / f"{table}.parquet"
            pl.read_parquet(path).with_columns(pl.lit(value).alias(measure)).write_parquet(path)
        resealed(tmp_path / name)
    changes = compare_runs(tmp_path / "one", tmp_path / "other").frames["changes"]
    assert changes.filter(policy="lra", measure=measure)["verdict"].to_list() == [expected]


@pytest.mark.slow
def test_what_production_came_to_is_no_matter_of_chance(tmp_path: Path) -> None:
    """Its placement is the same in every order, so that a change of it is a change."""
    small, large = (parquet_folder(tmp_path / f"load{number}") for number in (0, 1))
    path = large / "containers.parquet"
    pl.read_parquet(path).with_columns(pl.col("cpu_milli") * 2).write_parquet(path)
    for name, load in (("one", small), ("other", large)):
        replay(None, ["first_fit"], out=tmp_path / name, workload=load, repeats=3)
    study = compare_runs(tmp_path / "one", tmp_path / "other").frames["changes"]
    usual = study.filter(policy="observed", measure="cpu_allocated_share")
    assert usual["verdict"].to_list() == ["changed"]
    assert usual["change_low"].to_list() == usual["change"].to_list()


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("cpu_mean_fraction > 1.05 * base", "failed"),
        ("lra: cpu_mean_fraction > 1.05 * base", "failed"),
        ("cpu_mean > 1.05 * base.cpu_mean", "failed"),
        ("network_mean > 1.05 * base", "failed"),
        # the fuller run leaves containers without a node
        ("lra: cpu_mean_fraction < base", "not comparable"),
        ("nodes_used_max - base > 1", "not comparable"),
        ("nodes_used_max > 100", "ok"),
        ("-cpu_mean_fraction < -base.cpu_mean_fraction", "failed"),
        ("1000 < pending < 3000 + base / 2", "ok"),
    ],
)
def test_thresholds(runs: dict[str, Path], text: str, outcome: str) -> None:
    study = compare_runs(runs["base"], runs["fuller"], fail_if=[parse_threshold(text)])
    outcomes = study.frames["thresholds"]
    assert set(outcomes["outcome"]) == {outcome}
    assert outcomes["failed"].to_list() == [outcome != "ok"] * outcomes.height
    policies = outcomes["policy"].to_list()
    assert policies == (["lra"] if text.startswith("lra:") else ["lra", "worst_fit"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("imbalance_mean", "compares nothing"),
        ("cpu_max > 0.6 or memory_max > 0.8", "gives two comparisons"),
        ("cpu_max > 1 or cpu_mean > 1 or imbalance_mean > 1", "gives 3 comparisons"),
        ("worst(cpu_max, memory_max) > 1", "measure"),
        ("worst(2 * cpu_max) > 1", "measure"),
        ("worst() > cpu_max", "measure"),
        ("imbalance_mean > base / 0", "'base / 0'"),
        ("imbalance_mean > base / -0.0", "divides by 0"),
        ("-" * 20_000 + "1 > base", "20,008 characters"),
        ("imbalance_mean >", "expression"),
        ("1 > 2", "names no measure"),
        ("open('x') > 1", "measure"),
        ("imbalance_mean ** 9 > 1", "measure"),
        ("imbalance_mean > 'a'", "measure"),
        ("imbalance_mean.real > 1", "measure"),
        ("imbalance_mean in base", "measure"),
    ],
)
def test_expressions_that_make_no_sense(text: str, expected: str) -> None:
    with pytest.raises(TracekitError, match=expected):
        parse_threshold(text)


def test_a_threshold_of_the_worst_order_fails_where_the_mean_holds(runs: dict[str, Path]) -> None:
    """One of six orders was at 0.888, and 'cpu_max > 0.85' passed without a word of it."""
    values = pl.read_parquet(runs["often"] / "repeats.parquet").filter(policy="lra")
    mean, most = (float(getattr(values["imbalance_mean"], of)()) for of in ("mean", "max"))
    assert mean < most
    between = (mean + most) / 2
    texts = ("imbalance_mean", "worst(imbalance_mean)")
    wanted = [parse_threshold(f"lra: {text} > {between!r}") for text in texts]
    study = compare_runs(runs["often"], runs["often"], fail_if=wanted)
    rows = study.frames["thresholds"].to_dicts()
    assert [(row["outcome"], row["judged"]) for row in rows] == [
        ("ok", "mean"),
        ("failed", "worst"),
    ]
    assert {(row["orders"], row["new_worst"]) for row in rows} == {(8, most)}
    facts = [one for one in facts_of_comparison(study) if one.kind == "check"]
    assert [(one.value, one.verdict) for one in facts] == [
        (pytest.approx(mean), "holds"),
        (most, "does_not_hold"),
    ]
    assert facts[0].about["mean_of"] == facts[1].about["worst_of"] == 8


@pytest.mark.parametrize("text", ["base.cpu_stranded_share", "worst(base.cpu_stranded_share)"])
def test_the_base_shown_is_what_the_new_run_is_held_against(
    runs: dict[str, Path], text: str
) -> None:
    """The base's own highest CPU use stood there, which the expression does not use."""
    study = compare_runs(
        runs["often"], runs["often"], fail_if=[parse_threshold(f"lra: cpu_max_fraction > {text}")]
    )
    plain = compare_runs(
        runs["often"],
        runs["often"],
        fail_if=[parse_threshold("lra: cpu_stranded_share > worst(base)")],
    )
    (row,), (same,) = (one.frames["thresholds"].to_dicts() for one in (study, plain))
    assert row["base_measure"] == "cpu_stranded_share"
    assert (row["base"], row["base_worst"]) == (same["base"], same["base_worst"])


@pytest.mark.parametrize("base", ["base", "worst(base)"])
def test_a_run_holds_its_own_worst_order(runs: dict[str, Path], base: str) -> None:
    """It failed beside itself: 70.0 % in the worst order, beside the base's mean of 59.2 %."""
    arguments = [*map(parse_threshold, [f"lra: worst(imbalance_mean) > 1.0001 * {base}"])]
    study = compare_runs(runs["often"], runs["often"], fail_if=arguments)
    (row,) = study.frames["thresholds"].to_dicts()
    assert row["outcome"] == "ok"
    assert row["base_judged"] == "worst"
    assert row["base_worst"] == row["new_worst"] > row["base"]
    (fact,) = (one for one in facts_of_comparison(study) if one.kind == "check")
    assert fact.value == fact.against == row["base_worst"]


@pytest.mark.slow
def test_a_threshold_that_is_held_to_nothing_is_an_error(tmp_path: Path) -> None:
    """Production alone is the same in both; a gate that holds it to a threshold is always open."""
    load = parquet_folder(tmp_path / "load")
    for name, policy in (("one", "first_fit"), ("other", "worst_fit")):
        replay(None, [policy], out=tmp_path / name, workload=load, repeats=1)
    result = compare_runs(tmp_path / "one", tmp_path / "other")
    assert result.about["policies"] == ["observed"]
    with pytest.raises(TracekitError, match="compared") as wrong:
        compare_runs(
            tmp_path / "one", tmp_path / "other", fail_if=[parse_threshold("pending > base")]
        )
    assert "first_fit against worst_fit" in wrong.value.what
    study = compare_runs(
        tmp_path / "one", tmp_path / "other", fail_if=[parse_threshold("observed: pending > base")]
    )
    assert study.frames["thresholds"]["failed"].to_list() == [False]


def test_many_changes_are_corrected(runs: dict[str, Path]) -> None:
    """Orders of other seeds differ by chance alone: nothing is told of them."""
    changes = compare_runs(runs["often"], runs["other seeds"]).frames["changes"]
    assert set(changes["verdict"]) <= {"same", "within chance"}
    assert changes.height > 20


def test_folders_that_are_no_runs(runs: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(TracekitError, match="folder"):
        compare_runs(runs["base"], tmp_path)
    for kind in ("bind", "fit"):
        (tmp_path / "manifest.json").write_text(f'{{"schema": "tracekit/{kind}/1"}}')
        with pytest.raises(TracekitError, match=f"is what tracekit {kind} wrote"):
            compare_runs(runs["base"], tmp_path)
    other = tmp_path / "other"
    replay(None, ["bra"], out=other, workload=SMALL)
    with pytest.raises(TracekitError, match="policy"):
        compare_runs(runs["base"], other)


@pytest.mark.slow
def test_where_no_policy_is_in_both_runs_that_is_the_verdict(tmp_path: Path) -> None:
    """Production came out the same: that says nothing of any policy."""
    folder = parquet_folder(tmp_path / "given")
    for name in ("first_fit", "best_fit"):
        replay(None, [name], out=tmp_path / name, workload=str(folder), repeats=1)
    facts = facts_of_comparison(compare_runs(tmp_path / "first_fit", tmp_path / "best_fit"))
    assert facts[0].because == "runs_alone"
    assert {one.subject for one in facts if one.because == "only_in"} == {"first_fit", "best_fit"}


#: Verdicts that turn around when runs are swapped; all others stay.
TURNED = {"better": "worse", "worse": "better"}


def test_facts_of_swapped_runs_are_turned_around(runs: dict[str, Path]) -> None:
    one, other = (
        {
            (fact.subject, fact.measure): fact
            for fact in facts_of_comparison(compare_runs(runs[base], runs[new]))
            if fact.kind == "run_changed"
        }
        for base, new in (("often", "often fuller"), ("often fuller", "often"))
    )
    assert one.keys() == other.keys()
    for key, fact in one.items():
        turned = other[key]
        assert (fact.value, fact.against) == (turned.against, turned.value)
        if "not_comparable" not in (fact.because, turned.because):
            assert turned.verdict == TURNED.get(fact.verdict, fact.verdict), key
        assert fact.about["change"] == pytest.approx(-float(str(turned.about["change"])))


def test_a_summary_holds_each_fact_of_rank_one(runs: dict[str, Path], tmp_path: Path) -> None:
    larger = made(tmp_path / "larger", SMALL.replace("nodes=", "nodes=1"))
    arguments = [*map(parse_threshold, ["pending > 0", "worst(imbalance_mean) > 99"])]
    for base, new in ((runs["often"], runs["often fuller"]), (runs["base"], larger)):
        answer = answer_of(facts_of_comparison(compare_runs(base, new, fail_if=arguments)))
        lines = summary(answer)
        printed = " ".join(" ".join(line.removeprefix("-").split()) for line in lines)
        first = [short(one) for one in answer.facts if one.weight < 2]
        assert first
        assert all(text in printed for text in first)
        assert max(map(len, lines)) <= 80
