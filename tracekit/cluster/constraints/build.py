"""Constraints from tables: nodes, their cells, containers, and rules on sharing.

What containers and nodes state is read once for each distinct text, so the time depends on the
number of distinct texts and not on the size of the cluster.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.constraints.allowed import Suited
from tracekit.cluster.constraints.build_among import constraints_between_containers, not_among
from tracekit.cluster.constraints.cells import Cells
from tracekit.cluster.constraints.constraint import Constraint
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.labels import Labels
from tracekit.cluster.constraints.rules import CountRules, apart, sharing, together

#: Columns of ``Cells.capacity`` by resource, and what one unit is there.
_CELL = {"cpu": (0, MILLI_PER_CORE), "memory": (1, 1)}


def cells_of(
    nodes: pl.DataFrame,
    cells: pl.DataFrame | None,
    containers: pl.DataFrame,
    *,
    request: IntArray,
    capacity: IntArray,
    whole: Mapping[str, float],
) -> Cells | None:
    """Return the constraint on NUMA cells; ``constraints_of`` explains the parameters.

    Return None unless some container is bound to cells and some node has cells.
    """
    if cells is None or "numa_cells" not in containers.columns or "cell" not in cells.columns:
        return None
    bound = containers["numa_cells"].fill_null(0).cast(pl.Int64).to_numpy()
    of_cells = cells.filter(
        pl.col("cell").fill_null("") != "", pl.col("resource").is_in(list(_CELL))
    )
    if not bound.any() or not of_cells.height:
        return None
    return Cells(
        capacity=_capacity(nodes, of_cells, capacity, whole),
        request=np.ascontiguousarray(request[:, :2]),
        numa_cells=bound,
    )


def _capacity(
    nodes: pl.DataFrame, cells: pl.DataFrame, whole_node: IntArray, whole: Mapping[str, float]
) -> IntArray:
    at = {name: row for row, name in enumerate(nodes["node"])}
    numbers = {
        name: number for number, name in enumerate(sorted(cells["cell"].unique(), key=_rank))
    }
    amounts = np.zeros((nodes.height, len(numbers), 2), dtype=np.int64)
    has = np.zeros(nodes.height, dtype=np.bool_)
    for row in cells.iter_rows(named=True):
        node = at.get(row["node"])
        if node is None:
            continue
        column, factor = _CELL[row["resource"]]
        amount = row["amount"]
        if row.get("unit") == "fraction":
            amount *= _whole(whole, row["resource"])
        amounts[node, numbers[row["cell"]], column] = round(amount * factor)
        has[node] = True
    amounts[~has, 0] = whole_node[~has, :2]
    return amounts


def _whole(whole: Mapping[str, float], resource: str) -> float:
    if resource not in whole:
        raise TracekitError(
            f"cells state {resource} as a fraction, and nothing says of how much",
            hint="assume the size of a whole machine",
        )
    return whole[resource]


def _rank(cell: str) -> tuple[int, int, str]:
    """Cells in the order of their numbers; names that are not numbers follow."""
    return (0, int(cell), "") if cell.isdigit() else (1, 0, cell)


def constraints_of(
    nodes: pl.DataFrame,
    cells: pl.DataFrame | None,
    containers: pl.DataFrame,
    rules: pl.DataFrame | None,
    *,
    request: IntArray,
    capacity: IntArray,
    whole: Mapping[str, float] | None = None,
) -> Constraints | None:
    """Return the constraints that the tables state, or None if they state none.

    Parameters
    ----------
    nodes : DataFrame
        A row per node, in the order of the workload: ``node`` and, where known, ``rack``,
        ``domain``, ``zone``, ``platform``, ``labels``, ``taints``, ``state`` (a node that is
        ``closed`` has Kubernetes' taint of such nodes).
    cells : DataFrame, optional
        Rows of ``node_resource`` that are valid at the start; those of whole nodes are left out. A
        node without cells of its own is one cell.
    containers : DataFrame
        A row per container, in the order of the workload: ``container`` and, where known,
        ``service``, ``selector``, ``tolerations``, ``daemon``, ``apart``, ``apart_domain``,
        ``apart_most``, ``together``, ``together_domain``, ``numa_cells``, ``namespace``,
        ``labels``, ``rules``, ``host_ports``. A daemon runs on its node whatever selectors and
        taints say. The domain of a group in ``apart`` or ``together`` is a node, or a value of the
        label that ``apart_domain`` or ``together_domain`` names.
    rules : DataFrame, optional
        ``holder``, ``guest``, ``most``; see ``sharing``.
    request : int64, shape (containers, 2 or more)
        The workload's; cpu_milli and memory_bytes first.
    capacity : int64, shape (nodes, 2 or more)
        The workload's.
    whole : mapping, optional
        For cells with the unit ``fraction``: the cores of ``cpu``, and the bytes of ``memory``,
        that 1 stands for.

    Groups and rules by a domain that no node states, such as racks, are left out; ``not_held``
    counts them.

    Raises
    ------
    TracekitError
        For JSON that is broken or of another form; the error names the container or node.
    """
    labels = Labels(nodes)
    suited = Suited(labels, nodes, containers)
    parts: list[Constraint | None] = [
        suited.selectors(),
        suited.taints(),
        *_of_groups(labels, containers),
        *constraints_between_containers(
            labels, nodes.height, containers, suited.selects, suited.bears
        ),
        _sharing(containers, rules, nodes.height),
        cells_of(nodes, cells, containers, request=request, capacity=capacity, whole=whole or {}),
    ]
    stated = tuple(part for part in parts if part is not None)
    return Constraints(parts=stated) if stated else None


def not_held(nodes: pl.DataFrame, containers: pl.DataFrame) -> dict[str, int]:
    """Return the number of containers whose rule is ignored, as no node states the rule's domain.

    Returns
    -------
    mapping of str to int
        By rule and domain: ``containers_not_held_apart_by_rack`` counts the containers that are to
        be apart by rack.

    Parameters
    ----------
    nodes, containers : DataFrame
        As ``constraints_of`` takes them.
    """
    labels = Labels(nodes)
    groups = {
        f"{column}_by_{by}": len(rows)
        for column in ("apart", "together")
        for by, _, rows in _groups(containers, column)
        if not labels.stated(by)
    }
    counts = {**groups, **not_among(labels, containers)}
    return {f"containers_not_held_{what}": count for what, count in counts.items()}


def _of_groups(labels: Labels, containers: pl.DataFrame) -> list[CountRules]:
    parts = []
    for by, group, rows in _groups(containers, "apart"):
        most = np.ones(int(group.max()) + 1, dtype=np.int64)
        if "apart_most" in containers.columns:
            stated = containers["apart_most"].fill_null(1).cast(pl.Int64).to_numpy()
            most[:] = np.iinfo(np.int64).max
            np.minimum.at(most, group[rows], stated[rows])
        parts += [apart(by, group, labels.domain(by), most)] if labels.stated(by) else []
    for by, group, _ in _groups(containers, "together"):
        parts += [together(by, group, labels.domain(by))] if labels.stated(by) else []
    return parts


def _groups(containers: pl.DataFrame, column: str) -> list[tuple[str, IntArray, IntArray]]:
    """For each kind of domain, the group of each container, -1 for none, and which have one."""
    if column not in containers.columns or not containers[column].is_not_null().any():
        return []
    by_column = f"{column}_domain"
    by = containers[by_column] if by_column in containers.columns else pl.Series([None])
    frame = pl.DataFrame(
        {
            "group": containers[column].cast(pl.String),
            "by": by.cast(pl.String).extend_constant(None, containers.height - len(by)),
        }
    ).with_columns(pl.col("by").replace("", None).fill_null("node"))
    groups = []
    for kind in frame.filter(pl.col("group").is_not_null())["by"].unique(maintain_order=True):
        mine = frame.with_columns(
            group=pl.when(pl.col("by") == kind, pl.col("group") != "").then("group")
        )["group"]
        rows = np.flatnonzero(mine.is_not_null().to_numpy())
        group = np.full(containers.height, -1, dtype=np.int64)
        group[rows] = np.unique(mine.drop_nulls().to_numpy(), return_inverse=True)[1]
        if len(rows):
            groups.append((str(kind), group, rows))
    return groups


def _sharing(containers: pl.DataFrame, rules: pl.DataFrame | None, nodes: int) -> CountRules | None:
    if rules is None or not rules.height or "service" not in containers.columns:
        return None
    pairs = rules.select(pl.col("holder", "guest").cast(pl.String))
    services = pl.concat(pairs.get_columns()).unique(maintain_order=True)
    position = {name: at for at, name in enumerate(services)}
    limits = [
        pairs[side].replace_strict(position, return_dtype=pl.Int64) for side in ("holder", "guest")
    ]
    of = containers["service"].replace_strict(position, default=-1, return_dtype=pl.Int64)
    return sharing(
        of.to_numpy(),
        np.column_stack([*limits, rules["most"].cast(pl.Int64)]),
        nodes,
    )
