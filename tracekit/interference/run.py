"""The whole fit: rows of a store or of monitoring data, regression, verdict, and its folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from tracekit._version import VERSION
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, remark
from tracekit.base.files.result_folder import ResultFolder
from tracekit.base.progress import SILENT, Progress
from tracekit.base.shown import Shown
from tracekit.interference.binding import (
    REJECTS,
    Binding,
    NothingToFitError,
    binding_of_store,
    read_binding,
    records_bindings,
)
from tracekit.interference.linear import DEPENDENT, LEAST_INSTANCES
from tracekit.interference.models import all_models, compare_models, estimators
from tracekit.interference.options import SOCKETS, THREADS_PER_CORE, Options
from tracekit.interference.rows import Level, bound_rows, fit_totals, proxy_rows, with_load
from tracekit.interference.services import Fitted, fit_services, predictions
from tracekit.interference.table import PRESSURES, Table, make_table, recorded_sizes
from tracekit.interference.topology import read_topologies, spell_cpu_list
from tracekit.store.folder import Store
from tracekit.store.query.run import open_database
from tracekit.store.sqlfiles import get_query
from tracekit.store.views import ids_of

Mode = Literal["bound", "proxy"]
_BINDINGS = {"container": pl.String, "node": pl.String, "vcpus": pl.String}
NEIGHBOURS, LOAD = "interference/node_neighbours", "interference/container_load"


@dataclass(frozen=True, kw_only=True, repr=False)
class Fit(Shown):
    """The fitted cost of neighbours to each service, with the rows that it was fitted to.

    Parameters
    ----------
    mode : {'bound', 'proxy'}
        Whether cores and sockets of containers are known, or nodes alone.
    rows : DataFrame
        The rows of the regression, with the CPU that the fit predicts as ``predicted``.
    bindings : DataFrame
        The last vCPUs of each container, ``container, node, vcpus``, such as ``0-3,8``; no rows for
        a proxy.
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
    """Fit the cost of neighbours from a file of monitoring rows, or from the store alone.

    Parameters
    ----------
    binding, topology : Path, optional
        Files of ``binding.read_binding`` and ``topology.read_topologies``. Give both or none,
        except for a store that records vCPUs of containers: it may have ``topology`` alone. Without
        it, recorded cores of nodes are numbered by ``linux_numbering``.
    sockets, threads_per_core : int
        The parameters of ``linux_numbering``.

    Raises
    ------
    TracekitError
        If one of two needed files is missing, a file cannot be used, or the store lacks data of a
        fit.
    """
    options = options or Options()
    recorded = binding is None and records_bindings(store, engine)
    if (binding is None) != (topology is None) and not recorded:
        given, other = (
            ("--topology", "--binding") if binding is None else ("--binding", "--topology")
        )
        raise TracekitError(f"{given} without {other}", hint="give both files, or none")
    estimators(options.compare, seed)
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
    """Fit the cost of neighbours to the rows of ``bound_rows`` or ``proxy_rows``.

    Raises
    ------
    TracekitError
        If load is a regressor and no row has a load.
    """
    if options.load and rows["load"].null_count() == rows.height:
        raise TracekitError(
            "no instance has a call rate, so load cannot be a regressor",
            hint="ingest rates of calls (MSRTQps), give a column 'load', or leave --load out",
        )
    table = make_table(rows, load=options.load, other_sockets=options.other_sockets)
    used = _rows_of_table(rows, options)
    rng, how, proxy = np.random.default_rng([seed, 7]), options.how(), mode == "proxy"
    levels: tuple[Level, ...] = ("node",) if proxy else ("socket", "node")
    progress.stage("fit")
    fitted = fit_services(table, how, rng, proxy=proxy, shrink=options.shrink)
    totals = tuple(fit_totals(table, used, level, how, rng, proxy=proxy) for level in levels)
    models = estimators(options.compare, seed)
    if models:
        progress.stage("compare models")
    return Fit(
        mode=mode,
        options=options,
        seed=seed,
        fitted=fitted,
        rows=used.with_columns(predicted=pl.Series(predictions(table, fitted))),
        totals=totals,
        compared=compare_models(table, models, rng),
        rejects=pl.DataFrame(schema=REJECTS) if binding is None else binding.rejects,
        bindings=pl.DataFrame(schema=_BINDINGS) if binding is None else _last_bindings(binding),
        left_out=table.left_out,
        remarks=tuple(_remarks(mode, table, options, fitted.services)),
    )


def _rows_of_table(rows: pl.DataFrame, options: Options) -> pl.DataFrame:
    """The rows of the table, in its order."""
    if options.load:
        mean = pl.col("load").mean().over("service")
        rows = rows.filter(pl.col("load").is_not_null() & (mean > 0))
    return rows.sort("service", maintain_order=True)


def _remarks(mode: Mode, table: Table, options: Options, services: pl.DataFrame) -> Iterator[Fact]:
    if mode == "proxy":
        yield remark("fit_proxy")
    if options.nonneg:
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
        neighbours = database.frame(get_query(NEIGHBOURS).text, _window(options))
        sizes = recorded_sizes(store, database)
    if (
        neighbours.is_empty()
        and not len(ids_of(store, "service"))
        and len(ids_of(store, "container"))
    ):
        raise NothingToFitError(
            "no container of the store has a service, and coefficients are by service",
            hint="state it with the containers, in a column service, and ingest them anew",
        )
    return proxy_rows(neighbours, _load(store, options, engine), options.agg, sizes)


def _load(store: Store, options: Options, engine: str | None) -> pl.DataFrame | None:
    if not options.load:
        return None
    with open_database(store, engine) as database:
        return database.frame(get_query(LOAD).text, _window(options))


def _services(store: Store, engine: str | None) -> dict[str, str]:
    """The service of each container of the store; of several services the first by name."""
    with open_database(store, engine) as database:
        pairs = database.frame(
            "SELECT container_id.container, min(service_id.service) AS service"
            " FROM container_usage_keyed AS u"
            " INNER JOIN container_id ON u.container_key = container_id.container_key"
            " INNER JOIN service_id ON u.service_key = service_id.service_key"
            " GROUP BY container_id.container ORDER BY container_id.container",
            {},
        )
    return dict(pairs.iter_rows())


def models_of(text: str | None) -> tuple[str, ...]:
    """Return the names of models in ``NAME,NAME``; of all models for ``all``, of none for None."""
    names: Sequence[str] = [name.strip() for name in (text or "").split(",")]
    return tuple(all_models()) if names == ["all"] else tuple(name for name in names if name)


def _last_bindings(binding: Binding) -> pl.DataFrame:
    """The node and vCPUs of each container at its last time, by container."""
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


SCHEMA = "tracekit/fit/1"
FIT_FOLDER = ResultFolder(what="fit", schema=SCHEMA)
FRAMES = ("coefficients", "pooled", "rows", "compared", "rejects", "bindings")


def document(fit: Fit) -> dict[str, Any]:
    """Return a fit without its rows as a JSON document."""
    services = fit.fitted.services
    return {
        "schema": SCHEMA,
        "tool_version": VERSION,
        "mode": fit.mode,
        "seed": fit.seed,
        "options": dataclasses.asdict(fit.options),
        "rows": fit.rows.height,
        "rejected": fit.rejects.height,
        "left_out": fit.left_out,
        "remarks": [one.document() for one in fit.remarks],
        "verdicts": dict(sorted(services["verdict"].value_counts().iter_rows())),
        "bases": dict(sorted(services["basis"].value_counts().iter_rows())),
        "pooled": fit.fitted.pooled.row(0, named=True),
        "totals": list(fit.totals),
        "compared": fit.compared.to_dicts(),
    }


def frames(fit: Fit) -> dict[str, pl.DataFrame]:
    """Return the frames of a fit by file name without ending, each with a column ``mode``."""
    every = {
        "coefficients": fit.fitted.services,
        "pooled": fit.fitted.pooled,
        "rows": fit.rows,
        "compared": fit.compared,
        "rejects": fit.rejects,
        "bindings": fit.bindings,
    }
    return {
        name: frame.with_columns(pl.lit(fit.mode).alias("mode")) for name, frame in every.items()
    }


def write_fit(fit: Fit, out: Path) -> None:
    """Write the folder of a fit. Equal fits give equal bytes.

    Raises
    ------
    TracekitError
        If ``out`` has other content than a fit.
    """
    FIT_FOLDER.write(out, document(fit), frames(fit))
