"""Moves in order as a table: which pod, from where, to where, and which may go together."""

from tracekit.live.export._format import Format, Written
from tracekit.live.export._left import Left
from tracekit.live.export._plan import moves_of


def _write(left: Left) -> Written:
    plan = moves_of(left)
    return Written(files={"": plan.moves.write_csv().encode()}, facts=tuple(plan.facts()))


FORMAT = Format(
    name="moves.csv",
    title="a plan to read: moves of pods in waves that keep the budgets of disruption",
    write=_write,
)
