from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import KFold, cross_val_score
from vcpu_support import planted

from tracekit.interference.linear import deviations, solve
from tracekit.interference.models import WithinService, all_models, get_model
from tracekit.interference.options import Options
from tracekit.interference.room import service_profile
from tracekit.interference.run import fit_rows
from tracekit.interference.table import make_table


def arrays() -> tuple[np.ndarray, np.ndarray]:
    table = make_table(planted(np.random.default_rng(1), hosts=60)[0])
    return np.column_stack([table.service, table.regressors]), table.target


@pytest.mark.parametrize("name", all_models())
def test_it_finds_what_is_planted_and_repeats_itself(name: str) -> None:
    columns, target = arrays()
    model = get_model(name)
    assert model.title
    found = [WithinService(model.build(4)).fit(columns, target).predict(columns) for _ in range(2)]
    assert found[0].tolist() == found[1].tolist()
    constant = service_profile(columns[:, 0].astype(np.int64), target, 6)[columns[:, 0].astype(int)]
    assert ((found[0] - target) ** 2).mean() < 0.3 * ((constant - target) ** 2).mean()


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
    found = fit_rows(rows, "bound", Options(compare=(str(file), "least_squares"))).compared
    saved = dict(found.select("model", "saved_share").iter_rows())
    assert saved[str(file)] == pytest.approx(saved["least_squares"], abs=0.05)
