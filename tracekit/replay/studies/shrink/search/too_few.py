"""The error of a search whose limits break on all nodes already."""

from __future__ import annotations

from tracekit.errors import TracekitError
from tracekit.replay.studies.shrink.search.limits import Broken


class TooFewError(TracekitError):
    """A limit breaks on all nodes already."""

    broken: Broken | None = None
    #: That one container by itself breaks a limit, on every node; empty where none does.
    alone: str = ""
    #: Whether containers wait, which nobody spoke of, and nothing else is wrong.
    only_waits: bool = False

    def though(self, more: str) -> TooFewError:
        """The same, and something more that is known."""
        error = TooFewError(f"{self.what}; {more}", hint=self.hint)
        error.broken, error.alone, error.only_waits = self.broken, self.alone, self.only_waits
        return error
