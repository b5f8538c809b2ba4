"""The error of a search whose limits break on all nodes already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracekit.answer.fewest.search.broken_limit import Broken
from tracekit.answer.fewest.search.limits import PLACED
from tracekit.answer.fewest.search.trial import Trial
from tracekit.answer.left_waiting import WAITING
from tracekit.errors import TracekitError
from tracekit.replay.measures import RESOURCES
from tracekit.replay.workload.changed.pinned import too_large
from tracekit.replay.workload.series import settled_steps
from tracekit.replay.workload.workload import Workload
from tracekit.units import percent
from tracekit.words import count

#: The option that leaves out containers that had no node in production.
_OF_WAITING = " (--assume waiting=leave_out: if it waits in production)"


class TooFewError(TracekitError):
    """A limit breaks on all nodes already."""

    broken: Broken | None = None
    #: On how many fewer nodes, of those tried, the limit is nearest to holding, and its value there
    #: in the worst order of arrival; None where it is no nearer than on all.
    nearer: tuple[int, float] | None = None
    #: That one container by itself breaks a limit, on every node; empty where none does.
    alone: str = ""
    #: Whether containers wait, which nobody spoke of, and nothing else is wrong.
    only_waits: bool = False
    #: The limits that would let containers wait, an order; empty where that is not the cause.
    allow: str = ""

    def with_more(self, times: str, broken: Broken) -> TooFewError:
        """The same, and that more nodes do not help: so many times as many break a limit, too."""
        then = "" if broken == self.broken else f": {broken}"
        error = TooFewError(
            f"{self.what}; {times} as many nodes like these do not help{then}",
            hint=f"try another policy, or loosen the limit{f'; {self.allow}' * bool(self.allow)}",
        )
        error.broken, error.alone, error.only_waits = self.broken, self.alone, self.only_waits
        error.allow, error.nearer = self.allow, self.nearer
        return error

    def where_production_placed_all(self, nodes: int, over: int) -> TooFewError:
        """The same, and why production placed those that wait; parameters as of ``by_choice``."""
        if self.allow:
            self.hint = f"{by_choice(nodes, over)}; {self.allow}"
        return self


def already_broken(
    trial: Trial, broken: Sequence[Broken], load: Workload, most: tuple[float, float], nodes: int
) -> TooFewError:
    """The error where these limits break on all nodes, so many of which are there at the end.

    ``most`` is the highest use of CPU and memory that the limits allow.
    """
    again = f" in order of arrival {trial.repeat}" if trial.repeat else ""
    said = f"already with all {nodes:,} nodes{again} {' and '.join(map(str, broken))}"
    alone, never, allow = too_busy(load, most), too_large(load), allowing(broken)
    cause = f"{never or 'the cluster is too small for it as it is'}; {allow}"
    error = TooFewError(said, hint=alone or (cause if allow else None))
    error.allow = "" if alone or never else allow
    error.broken, error.alone = trial.broken, alone
    error.only_waits = all(one.limit in PLACED for one in broken)
    return error


def by_choice(nodes: int, over: int) -> str:
    """Why a policy lets containers wait that production placed on so many nodes, a clause.

    ``over`` is how many of them had too little room there for what they request. Then a policy that
    respects requests may not be able to place all on so many nodes.
    """
    placed = f"production placed all containers on {count(nodes, 'node')}"
    if over:
        had = f"{count(over, 'container')} had too little room on {'its' if over == 1 else 'their'}"
        return f"{placed}, but its placement does not respect requests: {had} node"
    return f"{placed}: it is the policy's choice of nodes, not their number"


def allowing(broken: Sequence[Broken]) -> str:
    """What lets so many containers wait where even all nodes are too few; empty where none do."""
    waiting = [one for one in broken if one.measure in WAITING]
    given = " ".join(f"--limit '{one.measure} <= {one.value or 0:g}'" for one in waiting)
    return f"allow it with {given}" if waiting else ""


def too_busy(load: Workload, most: tuple[float, float]) -> str:
    """That a container by itself uses more than a limit allows, on the largest node too."""
    largest = load.capacity[:, :2].max(axis=0, initial=1).astype(np.float64)
    if not np.isfinite(most).any() or not load.containers:
        return ""
    peak = np.zeros((2, load.containers))
    for step in settled_steps(load.times_ms, load.settled_ms).tolist():
        there = load.present(step)
        np.maximum(peak, load.use_at(step), out=peak, where=there[None])
    for at, name in enumerate(RESOURCES):
        who = int(peak[at].argmax())
        share = peak[at, who] / largest[at]
        if share > most[at]:
            return (
                f"'{load.container_ids[who]}' by itself needs {percent(share)} of the"
                f" {RESOURCES[name]} of the largest node: no number of nodes helps; leave it"
                f" out{_OF_WAITING * load.recorded}, or allow {name}_max_fraction that much"
            )
    return ""
