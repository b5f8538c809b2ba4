from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from sklearn.model_selection import KFold, cross_val_score
from vcpu_support import GOLDEN, planted

from tracekit.interference.linear import condition, deviations, fit_linear, solve
from tracekit.interference.models import WithinService, all_models, get_model
from tracekit.interference.options import How, Options
from tracekit.interference.room import service_profile
from tracekit.interference.run import fit_rows
from tracekit.interference.table import make_table

CASE = GOLDEN["patent.regression"]
COLUMNS = np.array(CASE["input"]["rows(cpu_sc,cpu_ss)"])


@pytest.mark.parametrize("name", ["exact", "noisy"])
def test_golden(name: str) -> None:
    fitted = fit_linear(COLUMNS, np.array(CASE["input"][f"cpu_inst_{name}"]))
    wanted = CASE["expected"][name]
    assert fitted.coefficients == pytest.approx([wanted[k] for k in ("b0", "k1", "k2")], abs=1e-9)
    assert fitted.r2 == pytest.approx(wanted["r2"], abs=1e-9)
    assert fitted.rmse == pytest.approx(wanted["rmse"], abs=1e-9)


def drawn(seed: int, rows: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = rng.uniform(0, 1, (rows, 2))
    return columns, 0.3 + columns @ [0.25, 0.1] + rng.normal(0, 0.01, rows)


@given(some.integers(0, 2**32))
def test_solves_the_normal_equations(seed: int) -> None:
    columns, target = drawn(seed)
    design = np.column_stack([np.ones(len(target)), columns])
    wanted = np.linalg.solve(design.T @ design, design.T @ target)
    assert solve(columns, target) == pytest.approx(wanted, abs=1e-9)


def test_errors_are_those_of_the_textbook() -> None:
    columns, target = drawn(3)
    fitted = fit_linear(columns, target)
    design = np.column_stack([np.ones(len(target)), columns])
    residual = target - design @ fitted.coefficients
    covariance = residual @ residual / (len(target) - 3) * np.linalg.inv(design.T @ design)
    assert fitted.errors == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-9)


def test_rows_of_one_instance_do_not_count_as_many() -> None:
    columns, target = drawn(4)
    again, groups = np.repeat(columns, 10, axis=0), np.repeat(np.arange(40), 10)
    naive = fit_linear(again, np.repeat(target, 10)).errors
    clustered = fit_linear(again, np.repeat(target, 10), groups=groups).errors
    single = fit_linear(columns, target).errors
    assert (naive < 0.4 * single).all()
    assert clustered == pytest.approx(single, rel=0.35)


def test_nonneg_is_nought_where_the_line_falls() -> None:
    columns, _ = drawn(6)
    target = 0.3 + 0.2 * columns[:, 0] - 0.1 * columns[:, 1]
    assert fit_linear(columns, target).coefficients[2] == pytest.approx(-0.1)
    bounded = solve(columns, target, How(nonneg=True))
    assert bounded[2] == 0
    assert bounded[1] > 0


def test_dependent_columns_have_no_condition() -> None:
    column = np.linspace(0, 1, 20)
    assert condition(np.column_stack([np.ones(20), column, 2 * column])) == float("inf")
    assert condition(np.column_stack([np.ones(20), np.zeros(20)])) == float("inf")
    assert condition(np.eye(20)[:, :3]) == pytest.approx(1)


def covered(groups: int, times: int, draws: int = 400) -> float:
    """Share of intervals that hold the planted slopes; rows of a group err together."""
    rng = np.random.default_rng(9)
    inside = 0
    for _ in range(draws):
        columns = np.repeat(rng.uniform(0, 1, (groups, 2)) ** 2, times, axis=0)
        columns += rng.normal(0, 0.05, columns.shape)
        noise = np.repeat(rng.normal(0, 0.01, groups), times)
        noise += 0.01 * rng.standard_t(4, len(columns))
        cluster = np.repeat(np.arange(groups), times) if times > 1 else None
        fitted = fit_linear(columns, 0.3 + columns @ [0.25, 0.1] + noise, groups=cluster)
        inside += int(
            ((fitted.low <= [0.3, 0.25, 0.1]) & (fitted.high >= [0.3, 0.25, 0.1]))[1:].sum()
        )
    return inside / (2 * draws)


@pytest.mark.parametrize(("groups", "times"), [(12, 6), (40, 4), (25, 1)])
def test_intervals_hold_at_the_stated_rate(groups: int, times: int) -> None:
    assert 0.915 <= covered(groups, times) <= 0.985


def test_one_row_a_group_is_the_jackknife() -> None:
    columns, target = drawn(8, rows=15)
    fitted = fit_linear(columns, target, groups=np.arange(15))
    left_out = np.array([
        solve(np.delete(columns, at, axis=0), np.delete(target, at)) for at in range(15)
    ])  # fmt: skip
    spread = ((left_out - fitted.coefficients) ** 2).sum(axis=0) * 14 / 15
    assert fitted.errors == pytest.approx(np.sqrt(spread), rel=1e-9)


def arrays() -> tuple[np.ndarray, np.ndarray]:
    table = make_table(planted(np.random.default_rng(1), hosts=60)[0])
    return np.column_stack([table.service, table.regressors]), table.target


@pytest.mark.parametrize("name", all_models())
def test_it_finds_what_is_planted_and_repeats_itself(name: str) -> None:
    columns, target = arrays()
    model = get_model(name)
    assert model.title
    predicted = [
        WithinService(model.build(4)).fit(columns, target).predict(columns) for _ in range(2)
    ]
    assert predicted[0].tolist() == predicted[1].tolist()
    constant = service_profile(columns[:, 0].astype(np.int64), target, 6)[columns[:, 0].astype(int)]
    assert ((predicted[0] - target) ** 2).mean() < 0.3 * ((constant - target) ** 2).mean()


def test_pipelines_of_scikit_learn_go_on_from_here() -> None:
    columns, target = arrays()
    folds = KFold(5, shuffle=True, random_state=0)
    scores = cross_val_score(WithinService(), columns, target, cv=folds)
    assert scores.mean() > 0.9


def test_within_is_least_squares_on_deviations() -> None:
    table = make_table(planted(np.random.default_rng(2))[0])
    columns = np.column_stack([table.service, table.regressors])
    model = WithinService().fit(columns, table.target)
    beyond, target = deviations(table, np.ones(len(table.target), np.bool_))
    wanted = solve(beyond, target, intercept=False)[1:]
    assert model.pooled_.coef_ == pytest.approx(wanted, abs=1e-9)


def test_a_service_never_seen_gets_the_mean() -> None:
    columns, target = arrays()
    model = WithinService().fit(columns, target)
    unseen = np.array([[columns[:, 0].max() + 5, *model.level_[:-1]]])
    assert model.predict(unseen)[0] == pytest.approx(target.mean(), abs=0.01)


OWN = """
from sklearn.linear_model import Lasso
from tracekit.interference.models import Model

MODEL = Model(title="Lasso", build=lambda seed: Lasso(alpha=1e-5))
"""


def test_a_users_own_model_is_compared_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    rows = planted(np.random.default_rng(1))[0]
    errors = fit_rows(rows, "bound", Options(compare=(str(file), "least_squares"))).compared
    saved = dict(errors.select("model", "saved_share").iter_rows())
    assert saved[str(file)] == pytest.approx(saved["least_squares"], abs=0.05)
