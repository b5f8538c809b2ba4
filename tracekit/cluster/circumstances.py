"""Assumptions for every kind of workload: lost nodes, waiting of gangs, ceiling and prices.

Prices are by instance type: ``m6i.4xlarge=0.768,m6i.large=0.096`` states prices, and ``FILE.csv``
names a table with the columns ``instance_type`` and ``price_per_hour``. Some node must have a
stated type; a table may hold further types. A stated price precedes a table's, and both precede
what the source records.
"""

import csv
import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracekit.base import parameters
from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.base.constants import INSTANCE_TYPES
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.opened import read_text
from tracekit.base.words import few
from tracekit.cluster.declared import CEILING_PREFIX, Ceiling
from tracekit.cluster.losses import span_ms, with_losses
from tracekit.cluster.provenance import CHOSEN
from tracekit.cluster.workload import Workload

_COLUMNS = ("instance_type", "price_per_hour")
_TABLE = ".csv"
#: A currency is a code or a sign.
_LONGEST_CURRENCY = 8


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Prices per hour by instance type, from the assumption ``prices``.

    Parameters
    ----------
    stated : mapping
        Prices given as TYPE=PRICE; some node must have each of these types.
    table : mapping
        Prices from files; nodes need not have these types.
    """

    stated: Mapping[str, float]
    table: Mapping[str, float]

    def applied(self, load: Workload) -> Workload:
        """Return the workload with these prices. Its assumptions list the prices that were used.

        Raises
        ------
        TracekitError
            If no node has an instance type, or no node has a type with a stated price.
        """
        types = load.nodes.instance_types
        if types is None:
            raise TracekitError(
                f"prices go by the label {INSTANCE_TYPES[0]}, and no node of '{load.name}' has it",
                hint="a file node.csv with the columns node and price_per_hour gives prices, too",
            )
        node_types = sorted(set(types) - {""})
        for one in self.stated:
            if one not in node_types:
                raise _unknown(f"no node is of instance type '{one}'", one, node_types)
        used = {
            one: price for one, price in {**self.table, **self.stated}.items() if one in node_types
        }
        if not used:
            raise _unknown("the table of prices has no instance type of the nodes", "", node_types)
        recorded = load.nodes.price_per_hour
        price = np.full(load.nodes.count, np.nan) if recorded is None else recorded.copy()
        for at, one in enumerate(types):
            price[at] = used.get(one, price[at])
        spelled = ",".join(f"{one}={value!r}" for one, value in sorted(used.items()))
        return dataclasses.replace(
            load,
            nodes=dataclasses.replace(load.nodes, price_per_hour=price),
            provenance=load.provenance.plus(
                assumptions={"prices": spelled}, quantities={"prices": CHOSEN}
            ),
        )


def _unknown(what: str, name: str, types: Sequence[str]) -> TracekitError:
    close = nearest(name, types)
    suggestion = f"did you mean '{close}'? " if close else ""
    return TracekitError(what, hint=f"{suggestion}the nodes are of {few(types)}")


def read_prices(text: str) -> Prices:
    """Return the prices in a text such as ``m6i.4xlarge=0.768,prices.csv``, and in its tables.

    Raises
    ------
    TracekitError
        For a part that is not of the form ``TYPE=PRICE``, a price that is no number of 0 or more,
        and a table that cannot be read.
    """
    stated: dict[str, float] = {}
    table: dict[str, float] = {}
    for part in (one.strip() for one in text.split(",")):
        name, equals, price = (word.strip() for word in part.partition("="))
        if part.endswith(_TABLE) and not equals:
            table |= _read_table(Path(part))
        elif equals and name and name not in stated:
            stated[name] = _price(name, price)
        else:
            raise TracekitError(
                f"'{part}' is no TYPE=PRICE, or gives a price twice",
                hint="for example m6i.4xlarge=0.768",
            )
    return Prices(stated=stated, table=table)


def _price(name: str, text: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = math.nan
    if not 0 <= price < math.inf:
        raise TracekitError(f"the price of {name} is '{text}', expected a number of 0 or more")
    return price


def _read_table(path: Path) -> dict[str, float]:
    try:
        rows = list(csv.DictReader(read_text(path).splitlines()))
    except (OSError, ValueError, csv.Error) as error:
        raise TracekitError(f"cannot read the prices in {path}: {error}") from None
    if not rows or not set(_COLUMNS) <= rows[0].keys():
        raise TracekitError(
            f"{path.name} holds no prices", hint=f"its columns are {' and '.join(_COLUMNS)}"
        )
    table: dict[str, float] = {}
    for row in rows:
        name = (row[_COLUMNS[0]] or "").strip()
        if not name or name in table:
            raise TracekitError(f"{path.name} names '{name}' twice, or a row without a type")
        table[name] = _price(name, (row[_COLUMNS[1]] or "").strip())
    return table


def check_currency(text: str) -> str:
    """Return the text unchanged if it can be a currency, such as USD; else raise TracekitError."""
    if not 0 < len(text) <= _LONGEST_CURRENCY or not text.isprintable() or " " in text:
        raise TracekitError(f"the currency is '{text}', expected a code or sign such as USD")
    return text


@dataclass(frozen=True, kw_only=True)
class Money:
    """The prices of a workload's nodes.

    Parameters
    ----------
    price_per_hour : float64, shape (nodes,)
        NaN for a node whose price is not known.
    currency : str
        Empty if it is not stated.
    unpriced_types : tuple of str
        Instance types without a price.
    unpriced_nodes : int
        Number of nodes without a price, of these types or without a type.
    """

    price_per_hour: FloatArray
    currency: str
    unpriced_types: tuple[str, ...]
    unpriced_nodes: int

    def per_hour(self, nodes: BoolArray | None = None) -> float | None:
        """Return the cost of some nodes per hour, or of all nodes.

        Return None if any node of the workload has no price.
        """
        if self.unpriced_nodes:
            return None
        return float(self.price_per_hour.sum(where=True if nodes is None else nodes))


def money_of(load: Workload) -> Money:
    """Return the prices of a workload's nodes, and which of them are not known."""
    price = load.nodes.price_per_hour
    prices = np.full(load.nodes.count, np.nan) if price is None else price
    lacking = np.flatnonzero(np.isnan(prices)).tolist()
    types = load.nodes.instance_types or ("",) * load.nodes.count
    return Money(
        price_per_hour=prices,
        currency=load.nodes.currency,
        unpriced_types=tuple(sorted({types[at] for at in lacking} - {""})),
        unpriced_nodes=len(lacking),
    )


#: Their names, with what they mean.
NAMES = {
    "prices": "Prices of nodes by instance type: TYPE=PRICE or FILE.csv, commas between.",
    "currency": "What follows an amount of money.",
    "lost": "Nodes lost at a time: WHAT@TIME, commas between.",
    "preemption": "none, or lower: who fits nowhere evicts containers of lower priority.",
    "gang_wait": "How long a gang holds nodes while at most a tenth of its members finds none.",
    "gang_backoff": "How long a gang that could not begin is not tried again.",
    "ceiling_cpu_fraction": "A node is full above this share of its CPU, 99 % of the time.",
    "ceiling_memory_fraction": "A node is full above this share of its memory, at any time.",
}


#: Settings of earlier names, as they are called now.
_RENAMED = {"arrival=trace": "arrivals=recorded", "arrival=spread": "arrivals=spread"}


def split_settings(assume: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the ``name=value`` settings of the assumptions in ``NAMES``, and a list of all others.

    The former are a mapping by name. They apply to any workload after it is read, such as
    ``prices``.
    """
    own: dict[str, str] = {}
    others = []
    for setting in (_RENAMED.get(one.replace(" ", ""), one) for one in assume):
        name, equals, value = setting.partition("=")
        if equals and name.strip() in NAMES:
            own[name.strip()] = value.strip()
        else:
            others.append(setting)
    return own, others


def with_assumptions(load: Workload, own: Mapping[str, str], rng: np.random.Generator) -> Workload:
    """Return the workload with the assumptions in ``own`` applied; see ``split_settings``.

    Raises
    ------
    TracekitError
        For an impossible value, and for ``gang_wait`` or ``gang_backoff`` if there is no gang.
    """
    if "lost" in own:
        load = with_losses(load, own["lost"], rng)
    if "preemption" in own:
        load = _preempting(load, own["preemption"])
    load = _with_ceiling(load, own)
    if "prices" in own:
        load = read_prices(own["prices"]).applied(load)
    if "currency" in own:
        currency = check_currency(own["currency"])
        load = dataclasses.replace(
            load,
            nodes=dataclasses.replace(load.nodes, currency=currency),
            provenance=load.provenance.plus(assumptions={"currency": currency}),
        )
    spans = {name: value for name, value in own.items() if name.startswith("gang_")}
    if not spans:
        return load
    if load.rules.gang is None or not (load.rules.gang >= 0).any():
        raise TracekitError(
            f"{next(iter(spans))} is about gangs, and workload '{load.name}' has none",
            hint="leave it out, or admit a service's containers together with --gang",
        )
    whole = int(load.use.times_ms[-1] - load.use.times_ms[0]) + load.use.step_ms
    made = {
        f"{name}_ms": span_ms(value, whole=whole, what=f"{name}={value}")
        for name, value in spans.items()
    }
    return dataclasses.replace(
        load,
        rules=dataclasses.replace(
            load.rules,
            gang_wait_ms=made.get("gang_wait_ms", load.rules.gang_wait_ms),
            gang_backoff_ms=made.get("gang_backoff_ms", load.rules.gang_backoff_ms),
        ),
        provenance=load.provenance.plus(assumptions=made),
    )


def _with_ceiling(load: Workload, own: Mapping[str, str]) -> Workload:
    """The workload with the parts of the ceiling that are set."""
    names = {f"{CEILING_PREFIX}{name}": name for name in parameters.names(Ceiling)}
    given = {name: own[full] for full, name in names.items() if full in own}
    if not given:
        return load
    try:
        ceiling: Ceiling = parameters.build(Ceiling, "the ceiling", given)
    except parameters.ParameterError as error:
        name = f"{CEILING_PREFIX}{error.field}"
        raise TracekitError(
            f"{name} is {own[name]}, expected a share from 0.01 to 1", hint=f"--assume {name}=0.8"
        ) from error
    shares = {
        f"{CEILING_PREFIX}{name}": value for name, value in dataclasses.asdict(ceiling).items()
    }
    return dataclasses.replace(
        load,
        rules=dataclasses.replace(load.rules, ceiling=ceiling),
        provenance=load.provenance.plus(assumptions=shares),
    )


def _preempting(load: Workload, value: str) -> Workload:
    if value not in ("none", "lower"):
        raise TracekitError(f"preemption is '{value}', expected none or lower")
    if value == "none":
        return load
    if load.rules.priority is None or not np.ptp(load.rules.priority):
        raise TracekitError(
            f"preemption is about priorities, and workload '{load.name}' has one for all",
            hint="leave it out; the column priority of the table container tells priorities",
        )
    if load.rules.constraints is not None and load.rules.constraints.cells is not None:
        raise TracekitError(
            f"preemption knows no NUMA cells, and workload '{load.name}' has them",
            hint="--assume cells=none leaves them out",
        )
    return dataclasses.replace(
        load,
        rules=dataclasses.replace(load.rules, preemption=True),
        provenance=load.provenance.plus(assumptions={"preemption": value}),
    )
