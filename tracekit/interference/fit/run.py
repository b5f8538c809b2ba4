"""The fit from start to end: rows of a store or of monitoring data, regression, verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LinearRegression

from tracekit.base.arrays import FloatArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, remark
from tracekit.base.progress import SILENT, Progress
from tracekit.base.shown import Shown
from tracekit.interference.fit.binding import REJECTS, Binding, read_binding
from tracekit.interference.fit.models import all_models, get_model
from tracekit.interference.fit.options import Options
from tracekit.interference.fit.rows import (
    Level,
    NothingToFitError,
    bound_rows,
    fit_totals,
    proxy_rows,
    with_load,
)
from tracekit.interference.fit.services import Fitted, fit_services, predictions
from tracekit.interference.fit.store_binding import binding_of_store, records_bindings
from tracekit.interference.fit.table import PRESSURES, Table, make_table, recorded_sizes
from tracekit.interference.fit.topology_file import read_topologies
from tracekit.interference.fit.validation import (
    COMPARED,
    DEPENDENT,
    FOLDS,
    LEAST_INSTANCES,
    folds_of,
)
from tracekit.interference.vcpu.declared import SOCKETS, THREADS_PER_CORE
from tracekit.interference.vcpu.topology import spell_cpu_list
from tracekit.store.folder import Store
from tracekit.store.query.run import open_database
from tracekit.store.sqlfiles import get_query
from tracekit.store.views import ids_of

Mode = Literal["bound", "proxy"]
_BINDINGS = {"container": pl.String, "node": pl.String, "vcpus": pl.String}
NEIGHBOURS, LOAD = "interference/node_neighbours", "interference/container_load"


@dataclass(frozen=True, kw_only=True, repr=False)
class Fit(Shown):
    """What a fit found.

    Parameters
    ----------
    mode : {'bound', 'proxy'}
        Whether it is known who shares cores and sockets, or only nodes.
    rows : DataFrame
        As ``fit.rows`` has them, with ``predicted``.
    bindings : DataFrame
        The vCPUs that each container was last seen on: ``container, node, vcpus``, as Linux writes
        them; no rows of a proxy.
    """

    mode: Mode
    options: Options
    seed: int
    fitted: Fitted
    rows: pl.DataFrame
    totals: tuple[dict[str, Any], ...]
    compared: pl.DataFrame
    rejects: pl.DataFrame
    bindings: pl.DataFrame
    left_out: int = 0
    remarks: tuple[Fact, ...] = ()


def fit_store(
    store: Store,
    *,
    binding: Path | None = None,
    topology: Path | None = None,
    sockets: int = SOCKETS,
    threads_per_core: int = THREADS_PER_CORE,
    options: Options | None = None,
    seed: int = 0,
    engine: str | None = None,
    progress: Progress = SILENT,
) -> Fit:
    """Fit what neighbours cost, from monitoring rows or, without them, from the store alone.

    Parameters
    ----------
    binding, topology : Path, optional
        See ``fit.binding.read_binding`` and ``fit.topology_file``; both or none.
        A store that records the vCPUs of containers needs no ``binding``, and no ``topology`` where
        nodes have cores: they are then built by Linux's usual rule.
    sockets, threads_per_core : int
        For that rule.

    Raises
    ------
    TracekitError
        When only one of them is given, a file cannot be used, or there is nothing to fit.
    """
    options = options or Options()
    recorded = binding is None and records_bindings(store, engine)
    if (binding is None) != (topology is None) and not recorded:
        given, other = (
            ("--topology", "--binding") if binding is None else ("--binding", "--topology")
        )
        raise TracekitError(f"{given} without {other}", hint="give both files, or none")
    _estimators(options, seed)
    progress.stage("read")
    if recorded:
        read = binding_of_store(
            store, topology, sockets=sockets, threads_per_core=threads_per_core, engine=engine
        )
    elif binding is None or topology is None:
        rows = _rows_of_store(store, options, engine)
        return fit_rows(rows, "proxy", options, seed=seed, progress=progress)
    else:
        read = read_binding(binding, read_topologies(topology), _services(store, engine))
    rows = bound_rows(read, options.agg, resolved=options.resolved)
    if options.load:
        load = _load(store, options, engine)
        window_ms = options.window_ms if options.resolved else None
        rows = rows if load is None else with_load(rows, load, window_ms)
    return fit_rows(rows, "bound", options, seed=seed, progress=progress, binding=read)


def fit_rows(
    rows: pl.DataFrame,
    mode: Mode,
    options: Options,
    *,
    seed: int = 0,
    binding: Binding | None = None,
    progress: Progress = SILENT,
) -> Fit:
    """Fit rows as ``fit.rows`` makes them.

    Raises
    ------
    TracekitError
        When a load is wanted and no row has one.
    """
    if options.load and rows["load"].null_count() == rows.height:
        raise TracekitError(
            "no instance has a call rate, so load cannot be a regressor",
            hint="ingest rates of calls (MSRTQps), give a column 'load', or leave --load out",
        )
    table = make_table(rows, load=options.load, other_sockets=options.other_sockets)
    kept = _kept(rows, options)
    rng, how, proxy = np.random.default_rng([seed, 7]), options.how(), mode == "proxy"
    levels: tuple[Level, ...] = ("node",) if proxy else ("socket", "node")
    progress.stage("fit")
    fitted = fit_services(table, how, rng, proxy=proxy, shrink=options.shrink)
    totals = tuple(fit_totals(table, kept, level, how, rng, proxy=proxy) for level in levels)
    models = _estimators(options, seed)
    if models:
        progress.stage("compare models")
    return Fit(
        mode=mode,
        options=options,
        seed=seed,
        fitted=fitted,
        rows=kept.with_columns(predicted=pl.Series(predictions(table, fitted))),
        totals=totals,
        compared=_compared(table, models, rng),
        rejects=pl.DataFrame(schema=REJECTS) if binding is None else binding.rejects,
        bindings=pl.DataFrame(schema=_BINDINGS) if binding is None else _last_bindings(binding),
        left_out=table.left_out,
        remarks=tuple(_remarks(mode, table, options, fitted.services)),
    )


def _estimators(options: Options, seed: int) -> dict[str, Any]:
    """The models to compare; none where none is asked for."""
    if not options.compare:
        return {}

    return estimators(list(options.compare), seed)


def _compared(table: Table, models: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """Errors of the models; no rows where there are none."""
    if not models:
        return pl.DataFrame(schema=COMPARED)

    return compare_models(table, models, rng)


def _kept(rows: pl.DataFrame, options: Options) -> pl.DataFrame:
    """The rows in the order of the table, without those it leaves out."""
    if options.load:
        mean = pl.col("load").mean().over("service")
        rows = rows.filter(pl.col("load").is_not_null() & (mean > 0))
    return rows.sort("service", maintain_order=True)


def _remarks(mode: Mode, table: Table, options: Options, services: pl.DataFrame) -> Iterator[Fact]:
    if mode == "proxy":
        yield remark("fit_proxy")
    if options.nonneg or options.ridge:
        yield remark("fit_bounded")
    if table.left_out:
        yield remark("fit_without_rate", table.left_out, "rows")
    if set(PRESSURES[:2]) - set(table.names) and mode == "bound":
        yield remark("fit_no_neighbour")
    if few := services.filter(pl.col("reason").str.ends_with(DEPENDENT)).height:
        of, least = services.height, LEAST_INSTANCES
        yield remark("fit_few_instances", few, "services", of=of, least=least)


def _window(options: Options) -> dict[str, int]:
    return {"window_ms": options.window_ms} if options.resolved else {}


def _rows_of_store(store: Store, options: Options, engine: str | None) -> pl.DataFrame:
    with open_database(store, engine) as database:
        found = database.frame(get_query(NEIGHBOURS).text, _window(options))
        sizes = recorded_sizes(store, database)
    if found.is_empty() and not len(ids_of(store, "service")) and len(ids_of(store, "container")):
        raise NothingToFitError(
            "no container of the store has a service, and coefficients are by service",
            hint="state it with the containers, in a column service, and ingest them anew",
        )
    return proxy_rows(found, _load(store, options, engine), options.agg, sizes)


def _load(store: Store, options: Options, engine: str | None) -> pl.DataFrame | None:
    if not options.load:
        return None
    with open_database(store, engine) as database:
        return database.frame(get_query(LOAD).text, _window(options))


def _services(store: Store, engine: str | None) -> dict[str, str]:
    """The service of each container of the store; of several the first by name."""
    with open_database(store, engine) as database:
        found = database.frame(
            "SELECT container_id.container, min(service_id.service) AS service"
            " FROM container_usage_keyed AS u"
            " INNER JOIN container_id ON u.container_key = container_id.container_key"
            " INNER JOIN service_id ON u.service_key = service_id.service_key"
            " GROUP BY container_id.container ORDER BY container_id.container",
            {},
        )
    return dict(found.iter_rows())


def models_of(text: str | None) -> tuple[str, ...]:
    """Names of models from a list with commas; ``all`` is every one."""
    names: Sequence[str] = [name.strip() for name in (text or "").split(",")]
    return tuple(all_models()) if names == ["all"] else tuple(name for name in names if name)


def _last_bindings(binding: Binding) -> pl.DataFrame:
    """Node and vCPUs of each container at its last time, by container."""
    start = dict(zip(binding.room.hosts, binding.room.offset.tolist(), strict=False))
    last = (
        binding.rows.sort("instance", "time_ms", maintain_order=True)
        .group_by("instance", maintain_order=True)
        .last()
    )
    rows = [
        (one, host, spell_cpu_list((binding.place[first : first + many] - start[host]).tolist()))
        for one, host, first, many in last.select("instance", "host", "first", "vcpus").iter_rows()
    ]
    return pl.DataFrame(rows, schema=_BINDINGS, orient="row")


# Models side by side on the same held-out rows.


class WithinService(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Regress deviations from a service's means on deviations of its regressors.

    The first column of X is the service's number, the others are the regressors. A service that
    was not seen in training is foretold by the mean over all rows.

    Parameters
    ----------
    estimator : scikit-learn regressor or pipeline, optional
        Least squares if None; it is cloned, not changed.
    per_service : bool
        One clone for every service with ``least_rows`` rows, beside the pooled one.
    """

    def __init__(
        self, estimator: Any = None, *, per_service: bool = False, least_rows: int = 8
    ) -> None:
        self.estimator = estimator
        self.per_service = per_service
        self.least_rows = least_rows

    def fit(self, X: FloatArray, y: FloatArray) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn the means and what is beyond them."""
        service = X[:, 0].astype(np.int64)
        size = int(service.max()) + 1
        self.means_ = np.full((size, X.shape[1]), np.nan)
        self.level_ = np.append(X[:, 1:].mean(axis=0), y.mean())
        both = np.column_stack([X[:, 1:], y])
        many = np.bincount(service, minlength=size)
        for at, column in enumerate(both.T):
            total = np.bincount(service, column, size)
            self.means_[:, at] = np.divide(total, many, out=np.full(size, np.nan), where=many > 0)
        beyond = both - self.means_[service]
        base = LinearRegression() if self.estimator is None else self.estimator
        self.pooled_ = clone(base).fit(beyond[:, :-1], beyond[:, -1])
        self.own_: dict[int, Any] = {}
        for number in np.flatnonzero(many >= self.least_rows) if self.per_service else ():
            rows = service == number
            self.own_[int(number)] = clone(base).fit(beyond[rows, :-1], beyond[rows, -1])
        return self

    def predict(self, X: FloatArray) -> FloatArray:  # noqa: N803 - scikit-learn's names
        """What the services' instances use, shape (rows,)."""
        service = X[:, 0].astype(np.int64)
        known = np.where(service < len(self.means_), service, 0)
        means = np.where((service < len(self.means_))[:, None], self.means_[known], np.nan)
        means = np.where(np.isfinite(means), means, self.level_)
        beyond = X[:, 1:] - means[:, :-1]
        found = self.pooled_.predict(beyond)
        for at in np.unique(service):
            if int(at) in self.own_:
                rows = service == at
                found[rows] = self.own_[int(at)].predict(beyond[rows])
        return np.asarray(means[:, -1] + found)


PER_SERVICE = "least_squares_per_service"


class _Nothing(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """No deviation from the mean: the constant model."""

    def fit(self, _x: Any, _y: Any) -> _Nothing:
        self.fitted_ = True
        return self

    def predict(self, x: Any) -> Any:
        return np.zeros(len(x))


def estimators(names: list[str], seed: int) -> dict[str, Any]:
    """Estimators by the names of models; raises TracekitError for an unknown one."""
    made = {name: WithinService(get_model(name).build(seed)) for name in names}
    return {PER_SERVICE: WithinService(per_service=True), **made}


def compare_models(
    table: Table, models: Mapping[str, Any], rng: np.random.Generator
) -> pl.DataFrame:
    """Errors of each model on rows held out, beside those of the service's mean.

    Parameters
    ----------
    models : mapping
        scikit-learn estimators; their X has the service's number first, then the regressors.

    Returns
    -------
    DataFrame
        model, cv_rmse, cv_rmse_constant, ``saved_share`` = 1 - cv_rmse / cv_rmse_constant, and its
        lowest and highest value over the folds; best first.
    """
    columns = np.column_stack([table.service, table.regressors])
    fold = folds_of(table.instance, rng)
    missed = {
        name: _missed(model, columns, table.target, fold)
        for name, model in {"": WithinService(_Nothing()), **models}.items()
    }
    constant = missed.pop("")
    many = np.bincount(fold, minlength=FOLDS)
    rows = []
    for name, found in missed.items():
        saved = 1 - np.sqrt(found[many > 0] / constant[many > 0])
        rmse, base = (float(np.sqrt(sums.sum() / many.sum())) for sums in (found, constant))
        rows.append((name, rmse, base, 1 - rmse / base, float(saved.min()), float(saved.max())))
    return pl.DataFrame(rows, schema=COMPARED, orient="row").sort("cv_rmse", "model")


def _missed(model: Any, columns: Any, target: Any, fold: Any) -> Any:
    """Sums of squared errors, shape (folds,)."""
    sums = np.zeros(FOLDS)
    for held in range(FOLDS):
        test = fold == held
        if test.any() and not test.all():
            found = clone(model).fit(columns[~test], target[~test]).predict(columns[test])
            sums[held] = ((target[test] - found) ** 2).sum()
    return sums
