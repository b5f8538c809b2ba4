"""Tianchi 2018: applications with curves of demand, machines, anti-affinity, a first placement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl

from tracekit.base.arrays import Float32Array, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.base.units import BYTES_PER_GIB, MILLI_PER_CORE
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.sharing import AntiAffinity, Sharing, broken_rules
from tracekit.cluster.declared import ARRIVAL_SPAN_MS, ArrivalSpanMs
from tracekit.cluster.loaders import WorkloadLoader, values
from tracekit.cluster.loaders._shape import Sizes, sizes, spread_slots
from tracekit.cluster.loaders._source_files import all_good, files_at, whole, whole_rows
from tracekit.cluster.loaders._tianchi18_files import (
    FORMS,
    FURTHER,
    LINES,
    STEP_MS,
    alike,
    by_kind,
    curves,
    one_of_file,
)
from tracekit.cluster.provenance import ASSUMED
from tracekit.cluster.workload import Workload
from tracekit.intake.sources._cluster import Opened
from tracekit.intake.sources._rows import Delimited, Rule, refuse
from tracekit.store.quantities import INFERRED, RECORDED

_WHOLE = Rule(
    column="most", broken=pl.col("most") != pl.col("most").floor(), expected="a whole number"
)


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The files as tables; containers and rules name applications and nodes by position.

    Parameters
    ----------
    curves : float64, shape (2, points, apps)
        Millicores and bytes that a container of each application uses.
    app, recorded_node : int64, shape (containers,)
        ``recorded_node`` is -1 for a container that has none.
    """

    nodes: pl.DataFrame
    apps: pl.DataFrame
    containers: pl.DataFrame
    curves: FloatArray
    app: IntArray
    recorded_node: IntArray
    rules: AntiAffinity

    def only_placed(self) -> Tables:
        """Without the containers that have no recorded node."""
        kept = self.recorded_node >= 0
        return replace(
            self,
            containers=self.containers.filter(pl.Series(kept)),
            app=self.app[kept],
            recorded_node=self.recorded_node[kept],
        )

    def sizes(self, of_curve: Callable[..., Any]) -> Sizes:
        """Capacities of nodes and requests of applications; ``of_curve`` reduces a curve."""
        cpu, memory = (np.asarray(of_curve(curve, axis=0)) for curve in self.curves)
        further = {name: self.apps[name].to_numpy() for name in FURTHER}
        return sizes(
            {
                "cpu_milli": self.nodes["cpu"].to_numpy() * MILLI_PER_CORE,
                "memory_bytes": self.nodes["memory"].to_numpy() * BYTES_PER_GIB,
                "disk_bytes": self.nodes["disk"].to_numpy() * BYTES_PER_GIB,
                **{name: self.nodes[name].to_numpy() for name in FURTHER},
            },
            {
                "cpu_milli": cpu,
                "memory_bytes": memory,
                "disk_bytes": self.apps["disk"].to_numpy() * BYTES_PER_GIB,
                **further,
            },
        )


def read_tables(path: Path) -> Tables:
    """The four files at a path; raises TracekitError for a missing file or an unknown name."""
    files = by_kind(files_at(path), f"'{path}'")
    missing = [word for word in LINES if word not in files]
    if missing:
        raise TracekitError(
            f"'{path}' is not a Tianchi 2018 data set: no CSV looks like {', '.join(missing)}",
            hint="four CSVs without headers: app,cpu|..,memory|..,disk,p,m,pm; machine,six sizes;"
            " app,app,number; instance,app,machine",
        )
    made = {word: _rows(files[word], form) for word, form in FORMS.items()}
    most = all_good(files["rules"], refuse(made["rules"], [_WHOLE], ""))["most"].cast(pl.Int64)
    apps = all_good(files["apps"], curves(made["apps"]))

    def positions(word: str, column: str, known: pl.Series, of: str) -> IntArray:
        rule = one_of_file(column, known, files[of].name)
        return _positions(all_good(files[word], refuse(made[word], [rule], ""))[column], known)

    pairs = [positions("rules", column, apps["app"], "apps") for column in ("holder", "guest")]
    return Tables(
        nodes=made["machines"],
        apps=apps,
        containers=made["instances"],
        curves=np.stack(
            [_curve(apps["cpu_curve"], MILLI_PER_CORE), _curve(apps["memory_curve"], BYTES_PER_GIB)]
        ),
        app=positions("instances", "app", apps["app"], "apps"),
        recorded_node=positions("instances", "node", made["machines"]["node"], "machines"),
        rules=AntiAffinity(
            services=tuple(apps["app"]), rules=np.stack([*pairs, most.to_numpy()], axis=1)
        ),
    )


def _rows(opened: Opened, form: Delimited) -> pl.DataFrame:
    """All rows of a file; nothing is empty but the node of a container that has none."""
    texts = [name for name in form.columns if name not in form.numbers]
    if form is FORMS["instances"]:
        texts.remove("node")
    return whole_rows(opened, lambda one: whole(one, form), texts=texts, numbers=form.numbers)


def _positions(names: pl.Series, known: pl.Series) -> IntArray:
    """The position of each name among the known, -1 for none."""
    table = pl.DataFrame({"name": known, "at": np.arange(len(known))}).unique("name", keep="first")
    named = pl.DataFrame({"name": names})
    found = named.join(table, on="name", how="left", maintain_order="left")["at"]
    return found.fill_null(-1).to_numpy().astype(np.int64)


def _curve(curve: pl.Series, unit: int) -> FloatArray:
    """Curves of all applications, shape (points, apps), in the small unit."""
    values = curve.explode().to_numpy()
    return np.ascontiguousarray(values.reshape(len(curve), -1).T * unit)


#: What is known of each quantity: requests are worked out of the curves of use.
_QUANTITIES = {
    **dict.fromkeys(("node sizes", "use of containers", "placement"), RECORDED),
    "requests": INFERRED,
    "arrivals": ASSUMED,
}


@dataclass(frozen=True, kw_only=True)
class Tianchi18(WorkloadLoader):
    """Containers follow their application's curve; the release states no request and no times."""

    title: ClassVar[str] = "Tianchi 2018 (B): 68,224 containers with demand curves, 6,000 nodes"
    source: ClassVar[str] = "Alibaba Tianchi scheduling contest 2018, preliminary round, data B"
    files: ClassVar[str] = (
        "app_resources, instance_deploy, machine_resources and app_interference as CSVs or a zip"
    )
    licence: ClassVar[str] = "none stated upstream"

    containers: Annotated[
        Literal["all", "placed"],
        About("all: also those without a recorded node; placed: only those with one."),
    ] = "all"
    request: Annotated[
        Literal["peak", "mean"], About("A container's request: the peak or mean of its curve.")
    ] = "peak"
    anti_affinity: Annotated[
        Literal["keep", "none"], About("keep: the rules on which applications may share a node.")
    ] = "keep"
    arrival: Annotated[
        Literal["spread", "start"],
        About("spread: containers arrive evenly over arrival_span_ms; start: all at once."),
    ] = "spread"
    arrival_span_ms: ArrivalSpanMs = ARRIVAL_SPAN_MS
    step_ms: Annotated[
        int, About("Time between two points of a curve; the release does not say.", minimum=1)
    ] = STEP_MS

    def load(self, path: Path, rng: np.random.Generator) -> Workload:
        """Read the four files; containers arrive in an order drawn from ``rng``."""
        tables = read_tables(path)
        if self.containers == "placed":
            tables = tables.only_placed()
        order = rng.permutation(tables.containers.height)
        recorded, app = tables.recorded_node[order], tables.app[order]
        points = tables.curves.shape[1]
        span = min(self.arrival_span_ms, points * self.step_ms // 2)
        arrival = spread_slots(len(order), span if self.arrival == "spread" else 0)
        usage = _by_container(tables.curves, app)
        columns = tables.sizes(np.max if self.request == "peak" else np.mean)
        requests = columns.request[app]
        broken = broken_rules(tables.rules, app, recorded)
        return Workload(
            name="tianchi18",
            step_ms=self.step_ms,
            times_ms=np.arange(points, dtype=np.int64) * self.step_ms,
            node_ids=tuple(tables.nodes["node"]),
            capacity=columns.capacity,
            container_ids=tuple(tables.containers["container"].gather(order)),
            services=tuple(tables.containers["app"].gather(order)),
            recorded_node=recorded,
            arrival_ms=arrival,
            departure_ms=np.full(len(order), points * self.step_ms, dtype=np.int64),
            request=requests,
            nonzero_request=requests,
            limit=np.zeros_like(requests),
            usage=usage,
            background=np.zeros((2, points, tables.nodes.height), dtype=np.float32),
            settled_ms=int(arrival.max(initial=0)),
            resources=columns.resources,
            exchangeable=np.ones(len(order), dtype=np.bool_),
            constraints=Constraints(parts=(Sharing(limits=tables.rules, service=app),))
            if self.anti_affinity == "keep"
            else None,
            quantities=_QUANTITIES,
            assumptions=values(self),
            facts={
                "containers_without_recorded_node": int((recorded < 0).sum()),
                "anti_affinity_rules": len(tables.rules.rules),
                "anti_affinity_broken_by_recorded": broken,
            },
        )

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Whether some CSV there starts with a row of application curves."""
        return any(alike("apps", head) for head, _ in files_at(path))


def _by_container(curves: FloatArray, app: IntArray) -> Float32Array:
    """Curves of applications, shape (2, points, apps), as usage, (2, points, containers)."""
    return np.take(curves.astype(np.float32), app, axis=2)
