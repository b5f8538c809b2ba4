"""Prices of nodes by their instance type, and what nodes cost by them.

``m6i.4xlarge=0.768,m6i.large=0.096`` states prices. ``FILE.csv`` names a table with the columns
``instance_type`` and ``price_per_hour``. Some node must have a stated type; a table may hold
further types. A stated price precedes a table's, and both precede what the source records.
"""

import csv
import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.base.constants import INSTANCE_TYPES
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.opened import read_text
from tracekit.base.words import few
from tracekit.cluster.provenance import CHOSEN
from tracekit.cluster.workload import Workload

_COLUMNS = ("instance_type", "price_per_hour")
_TABLE = ".csv"
#: A currency is a code or a sign.
_LONGEST_CURRENCY = 8


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Prices per hour by instance type.

    Parameters
    ----------
    stated : mapping
        Prices of types; some node must have each of these.
    table : mapping
        Prices of types; no node need have them.
    """

    stated: Mapping[str, float]
    table: Mapping[str, float]

    def applied(self, load: Workload) -> Workload:
        """The workload with these prices; its assumptions list the prices that were used.

        Raises
        ------
        TracekitError
            If no node has an instance type, or none has one that is stated.
        """
        types = load.nodes.instance_types
        if types is None:
            raise TracekitError(
                f"prices go by the label {INSTANCE_TYPES[0]}, and no node of '{load.name}' has it",
                hint="a file node.csv with the columns node and price_per_hour gives prices, too",
            )
        known = sorted(set(types) - {""})
        for one in self.stated:
            if one not in known:
                raise _unknown(f"no node is of instance type '{one}'", one, known)
        used = {one: price for one, price in {**self.table, **self.stated}.items() if one in known}
        if not used:
            raise _unknown("the table of prices has no instance type of the nodes", "", known)
        recorded = load.nodes.price_per_hour
        price = np.full(load.nodes.count, np.nan) if recorded is None else recorded.copy()
        for at, one in enumerate(types):
            price[at] = used.get(one, price[at])
        spelled = ",".join(f"{one}={value!r}" for one, value in sorted(used.items()))
        return dataclasses.replace(
            load,
            nodes=dataclasses.replace(load.nodes, price_per_hour=price),
            provenance=dataclasses.replace(
                load.provenance,
                assumptions={**load.provenance.assumptions, "prices": spelled},
                quantities={**load.provenance.quantities, "prices": CHOSEN},
            ),
        )


def _unknown(said: str, name: str, known: Sequence[str]) -> TracekitError:
    close = nearest(name, known)
    near = f"did you mean '{close}'? " if close else ""
    return TracekitError(said, hint=f"{near}the nodes are of {few(known)}")


def read_prices(text: str) -> Prices:
    """The prices that a text states, and those in the tables it names.

    Raises
    ------
    TracekitError
        For a part that is no ``TYPE=PRICE``, a price that is no number above 0, and a table
        that cannot be read.
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
    """The currency as it follows amounts; raises TracekitError for a text that is none."""
    if not 0 < len(text) <= _LONGEST_CURRENCY or not text.isprintable() or " " in text:
        raise TracekitError(f"the currency is '{text}', expected a code or sign such as USD")
    return text


@dataclass(frozen=True, kw_only=True)
class Money:
    """The prices of a workload's nodes.

    Parameters
    ----------
    price_per_hour : float64, shape (nodes,)
        NaN where it is not known.
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

    def per_hour(self, kept: BoolArray | None = None) -> float | None:
        """The cost of some nodes, or of all; None if any node of the workload has no price."""
        if self.unpriced_nodes:
            return None
        return float(self.price_per_hour.sum(where=True if kept is None else kept))


def money_of(load: Workload) -> Money:
    """The prices of a workload's nodes, and which of them are not known."""
    price = load.nodes.price_per_hour
    known = np.full(load.nodes.count, np.nan) if price is None else price
    lacking = np.flatnonzero(np.isnan(known)).tolist()
    types = load.nodes.instance_types or ("",) * load.nodes.count
    return Money(
        price_per_hour=known,
        currency=load.nodes.currency,
        unpriced_types=tuple(sorted({types[at] for at in lacking} - {""})),
        unpriced_nodes=len(lacking),
    )
