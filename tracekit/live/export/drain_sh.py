"""Nodes to drain in order, as a script to read."""

from tracekit.live.export._format import Format, Written
from tracekit.live.export._left import Left
from tracekit.live.export._names import checked_name
from tracekit.live.export._plan import drain_of
from tracekit.live.export._text import command, script


def _write(left: Left) -> Written:
    """All nodes are closed first, so that no pod moves to one that is drained after it.

    ``kubectl drain`` keeps the budgets of disruption by itself: it waits.
    """
    plan = drain_of(left)
    nodes = [checked_name(one, "node") for one in plan.nodes]
    lines = [command("kubectl", "cordon", one) for one in nodes]
    lines += [command("kubectl", "drain", "--ignore-daemonsets", one) for one in nodes]
    return Written(files={"": script(lines)}, facts=tuple(plan.facts()))


FORMAT = Format(
    name="drain.sh",
    title="a plan to read: which nodes to close and drain, in which order",
    write=_write,
)
