"""Which engine answers: DuckDB in this process, or Spark."""

from tracekit.store.folder import Store
from tracekit.store.query.database import Database
from tracekit.store.spark import SparkDatabase, check_engine, is_spark

#: What answers queries, whatever stands behind it.
AnyDatabase = Database | SparkDatabase


def open_database(store: Store, engine: str | None = None) -> AnyDatabase:
    """A store's views on an engine: ``duckdb``, ``spark:local[2]``, ``spark://HOST:PORT``, ...

    Raises TracekitError for an engine that is not known or not to be had.
    """
    check_engine(engine)
    return SparkDatabase(store, str(engine)) if is_spark(engine) else Database(store)
