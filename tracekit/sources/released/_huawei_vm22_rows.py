"""Rows of huawei_vm22 with checked fields, and what is made of them, table by table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.arrays import FloatArray, IntArray
from tracekit.sources._cluster import Batch, Broken, Opened, Read

#: The unit of each resource; cpu_of_vm is a share of a VM's own vCPUs.
_UNITS = {
    "cpu": "cores", "memory": "bytes", "steal_time": "fraction", "cpu_of_vm": "fraction",
}  # fmt: skip


class WrongError(Exception):
    """A field that is not as it should be: its name, and what was found and is expected."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column, self.reason = column, reason

    def broken(self, table: str, line: int, row: Row) -> Broken:
        """The row as one of the rejects."""
        return Broken(
            table=table, line=line, column=self.column, reason=self.reason, text=row.text_shown
        )


@dataclass(frozen=True)
class Row:
    """A JSON object."""

    values: Mapping[str, object]
    text_shown: str

    def text(self, key: str) -> str:
        """A name; raises WrongError for none."""
        value = self.values.get(key)
        if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
            raise WrongError(key, f"is {_shown(value)}, expected a name")
        return str(value)

    def number(self, key: str) -> float:
        """A number, 0 or more; raises WrongError for any other value."""
        value = self.values.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
            raise WrongError(key, f"is {_shown(value)}, expected a number, 0 or more")
        return float(value)

    def numbers(self, key: str, count: int | None = None) -> FloatArray:
        """A list of numbers, of so many; raises WrongError for any other value."""
        found = _array(key, self.values.get(key))
        if count is not None and len(found) != count:
            raise WrongError(key, f"has {len(found)} values, expected {count}")
        return found

    def named_numbers(self, key: str) -> Iterator[tuple[str, FloatArray]]:
        """One list of numbers, without a name; or more of them, by name or by place from 0."""
        value = self.values.get(key)
        if isinstance(value, dict):
            for name, one in value.items():
                yield str(name), _array(key, one)
        elif isinstance(value, list) and value and isinstance(value[0], list):
            for at, one in enumerate(value):
                yield str(at), _array(key, one)
        else:
            yield "", _array(key, value)


def _array(key: str, value: object) -> FloatArray:
    if not isinstance(value, list):
        raise WrongError(key, f"is {_shown(value)}, expected a list of numbers")
    for at, one in enumerate(value):
        if not isinstance(one, int | float) or isinstance(one, bool):
            raise WrongError(key, f"is {_shown(one)} at place {at}, expected a number")
    return np.array(value, dtype=np.float64)


def _shown(value: object) -> str:
    return "empty" if value is None else f"'{str(value)[:60]}'"


def rows(opened: Opened, table: str) -> Iterator[tuple[int, Row | Broken]]:
    """The lines that are not empty, each with its number."""
    with opened.stream() as stream:
        for line, raw in enumerate(stream, 1):
            text = raw.decode(errors="replace").strip()
            if text:
                yield line, _row(text, line, table)


def _row(text: str, line: int, table: str) -> Row | Broken:
    shown = text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Broken(table=table, line=line, reason=f"is no JSON: {error}", text=shown)
    if not isinstance(found, dict):
        reason = f"is a JSON {type(found).__name__}, expected an object"
        return Broken(table=table, line=line, reason=reason, text=shown)
    return Row(found, shown)


class Made:
    """Rows of base tables that are made and not yet handed on."""

    def __init__(self) -> None:
        self._rows: dict[str, list[dict[str, object]]] = {}
        self._samples: list[pl.DataFrame] = []
        self._nodes: set[str] = set()
        #: Containers made so far.
        self.count = 0

    def add(self, table: str, line: int, **values: object) -> None:
        """A row of a table."""
        self._rows.setdefault(table, []).append({**values, "line": line})
        self.count += table == "container"

    def node(self, name: str, line: int, time_ms: int = 0) -> bool:
        """A node, once; whether it is new."""
        new = name not in self._nodes
        if new:
            self._nodes.add(name)
            self.add("node", line, time_ms=time_ms, node=name)
        return new

    def capacity(self, node: str, line: int, time_ms: int, resource: str, amount: float) -> None:
        """A node's capacity of a resource."""
        self.add(
            "node_resource", line, time_ms=time_ms, node=node, resource=resource, amount=amount,
            unit=_UNITS[resource],
        )  # fmt: skip

    def request(
        self, container: str, line: int, time_ms: int, resource: str, amount: float
    ) -> None:
        """A container's request of a resource."""
        self.add(
            "container_resource", line, time_ms=time_ms, container=container, resource=resource,
            request=amount, unit=_UNITS[resource],
        )  # fmt: skip

    def samples(
        self,
        container: str,
        line: int,
        times_ms: IntArray,
        resource: str,
        amounts: FloatArray,
    ) -> None:
        """A container's use of a resource, shapes (samples,)."""
        self._samples.append(
            pl.DataFrame({"time_ms": times_ms, "amount": amounts}).with_columns(
                container=pl.lit(container),
                resource=pl.lit(resource),
                unit=pl.lit(_UNITS[resource]),
                line=pl.lit(line),
            )
        )

    def batches(self) -> Read:
        """All rows made since the last time."""
        for table, some in self._rows.items():
            yield Batch(table=table, rows=pl.DataFrame(some, infer_schema_length=None))
        if self._samples:
            yield Batch(table="container_amount", rows=pl.concat(self._samples))
        self._rows, self._samples = {}, []
