"""What the page on the fewest nodes says of the policies that were not asked about."""

import polars as pl

from tracekit.answer.fewest.study import NAME
from tracekit.answer.fitness import above_on_average, left_out
from tracekit.answer.preferred import USUAL
from tracekit.replay.measures import NODES, NODES_MOST
from tracekit.replay.runs.run import OBSERVED
from tracekit.report import fewest_known as known
from tracekit.report.cells import Table, table
from tracekit.report.contents import commands
from tracekit.report.data import Data
from tracekit.report.policies import replayed
from tracekit.report.studies import of_another
from tracekit.words import count

_USED = (NODES, NODES_MOST)


def unasked(data: Data) -> list[str]:
    """Policies of the run that the search did not try: who surely holds the load first.

    Among these the usual policy comes first. Barred policies come last.
    """
    study = data.studies.get(NAME)
    if study is None or data.run is None or of_another(study, data.run["workload"]):
        return []
    others = [one for _, one in data.other_studies if known.asks_the_same(study, one)]
    studies = [study, *others]
    asked = {name for one in studies for name in one.frames["policies"]["policy"]}
    names = [name for name in replayed(data) if name not in asked and name != OBSERVED]
    found = data.results
    if found is None:
        return sorted(names, key=lambda name: name != USUAL)
    barred = _barred(data)
    doubt = {name for name in names if above_on_average(found, name)}
    return sorted(names, key=lambda name: (name in barred, name in doubt, name != USUAL))


def said(data: Data) -> str:
    """That the others were not tried; empty if all were."""
    others = unasked(data)
    if not others:
        return ""
    return (
        "How few nodes are enough was not asked for every policy."
        f" {count(len(others), 'other policy')} of the run {'was' if len(others) == 1 else 'were'}"
        " not tried: fewer or more nodes may be enough for them."
    )


def first(data: Data) -> str:
    """The one that the command asks about; empty where all of them are barred."""
    others = unasked(data)
    return next((name for name in others if name not in _barred(data)), "")


def _barred(data: Data) -> set[str]:
    found = data.results
    return {name for one in left_out(found) for name in one.names} if found is not None else set()


def command(data: Data) -> str:
    """The command that asks it of the first of them."""
    return commands.fewest(data, first(data), data.studies.get(NAME))


def used(data: Data) -> Table:
    """How many nodes held containers under each of them in the run, which limits nothing."""
    others = unasked(data)
    found = data.results
    if found is None:
        return Table(caption="", columns=[], rows=[])
    known = [name for name in _USED if name in found.measures]
    rows = {
        "policy": others,
        **{name: [float(found.of(policy, name).mean()) for policy in others] for name in known},
    }
    frame = pl.DataFrame(rows).sort([*known, "policy"][0])
    return table(frame, "Nodes that held containers in the run, with all nodes there")
