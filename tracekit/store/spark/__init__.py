"""The same questions on PySpark: a session, a store's views in it, and tasks for its executors.

pyspark is an optional extra; nothing here imports it before it is asked for.
"""

from tracekit.store.spark.database import SparkDatabase
from tracekit.store.spark.session import SparkCrew, check_engine, crew_of, is_spark, open_session

__all__ = [
    "SparkCrew",
    "SparkDatabase",
    "check_engine",
    "crew_of",
    "is_spark",
    "open_session",
]
