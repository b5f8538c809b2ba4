"""The error of a search whose limits break on all nodes already."""

from __future__ import annotations

from tracekit.errors import TracekitError
from tracekit.replay.studies.shrink.search.limits import Broken
from tracekit.words import count


class TooFewError(TracekitError):
    """A limit breaks on all nodes already."""

    broken: Broken | None = None
    #: That one container by itself breaks a limit, on every node; empty where none does.
    alone: str = ""
    #: Whether containers wait, which nobody spoke of, and nothing else is wrong.
    only_waits: bool = False
    #: The limits that would let containers wait, an order; empty where that is not the cause.
    allow: str = ""

    def though(self, more: str) -> TooFewError:
        """The same, and something more that is known."""
        error = TooFewError(f"{self.what}; {more}", hint=self.hint)
        error.broken, error.alone, error.only_waits = self.broken, self.alone, self.only_waits
        error.allow = self.allow
        return error

    def where_production_placed_all(self, nodes: int) -> TooFewError:
        """The same, and that the nodes are not the cause where containers wait."""
        if self.allow:
            self.hint = f"{by_choice(nodes)}; {self.allow}"
        return self


def by_choice(nodes: int) -> str:
    """That a policy lets containers wait that production placed on so many nodes, a clause."""
    return (
        f"production placed all containers on {count(nodes, 'node')}: it is the policy's choice of"
        " nodes, not their number"
    )
