"""Questions put to a store: the SQL files of ``queries/``, run and returned as frames."""

from tracekit.store.query.database import Database
from tracekit.store.query.run import run

__all__ = ["Database", "run"]
