"""Questions put to a store: the SQL files of ``queries/``, run and returned as frames."""

from tracekit.query.database import Database
from tracekit.query.run import run

__all__ = ["Database", "run"]
