"""Original ids for the integer keys of results, read as they are needed."""

import numpy as np
import polars as pl
import pyarrow as pa

from tracekit.base.files.places import scan_parquet
from tracekit.store.folder import Store

_ENTITY = {
    "upstream_key": "service",
    "downstream_key": "service",
    "service_key": "service",
    "interface_key": "interface",
}


class StoreNames:
    """The ids of a store's services and interfaces, and those of ranges of its traces."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids = {entity: self.of(entity) for entity in ("service", "interface")}

    def of(self, entity: str) -> pl.Series:
        """An entity's original ids; a key is a place among them."""
        files = self._store.dimension_files(entity)
        if not files:
            return pl.Series("id", [], dtype=pl.String)
        return scan_parquet(*files).select("id").collect()["id"]

    def traces(self, keys: pl.Series) -> pl.Series:
        """The ids of some traces, in the order of their keys' series."""
        rows = scan_parquet(*self._store.dimension_files("trace"))
        found = rows.filter(pl.col("key").is_in(keys.unique().implode())).collect()
        return keys.replace_strict(found["key"], found["id"], return_dtype=pl.String)

    def named(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with ids in place of keys: ``upstream`` for ``upstream_key``, and so on."""
        return frame.select(
            self._ids[_ENTITY[name]].gather(frame[name]).alias(name.removesuffix("_key"))
            if name in _ENTITY
            else frame[name]
            for name in frame.columns
        )

    def table(self, frame: pl.DataFrame) -> pa.Table:
        """The frame as an Arrow table whose ids are dictionaries, which cost little to write.

        ``trace_key`` must be there, and the keys of the frame's traces close together.
        """
        keys = frame["trace_key"]
        first, traces = self._range(keys)
        columns = {}
        for name in frame.columns:
            if name == "trace_key":
                columns["trace"] = _dictionary(keys - first, traces)
            elif name in _ENTITY:
                columns[name.removesuffix("_key")] = _dictionary(
                    frame[name], self._ids[_ENTITY[name]]
                )
            else:
                columns[name] = frame[name].to_arrow()
        return pa.table(columns)

    def _range(self, keys: pl.Series) -> tuple[int, pl.Series]:
        if not len(keys):
            return 0, pl.Series("id", [], dtype=pl.String)
        first, last = int(keys.min()), int(keys.max())  # type: ignore[arg-type]
        rows = scan_parquet(*self._store.dimension_files("trace"))
        found = rows.filter(pl.col("key").is_between(first, last)).collect()
        return first, found["id"]


def _dictionary(keys: pl.Series, ids: pl.Series) -> pa.DictionaryArray:
    """The ids of keys, each id that occurs written once."""
    occurs = np.zeros(len(ids), dtype=np.bool_)
    occurs[keys.drop_nulls().to_numpy()] = True
    place = pl.Series(np.cumsum(occurs, dtype=np.int32) - 1)
    indices = place.gather(keys).cast(pl.Int32)
    return pa.DictionaryArray.from_arrays(
        indices.to_arrow(), ids.filter(pl.Series(occurs)).to_arrow().cast(pa.string())
    )
