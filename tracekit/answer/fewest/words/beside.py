"""A study of the fewest nodes of several policies: how many each needs, and what is chance."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tracekit.answer.fewest.words.broken import why_none
from tracekit.answer.fewest.words.cautions import named
from tracekit.answer.fewest.words.nodes import added
from tracekit.replay.chance.student import FEWEST, compare
from tracekit.replay.policy.entrant import USUAL
from tracekit.replay.runs.shown import few
from tracekit.study import Study


def beyond_chance(study: Study, best: str) -> str:
    """Policies that need more nodes than a given one, beyond chance, and the others; sentences."""
    apart = _apart(study, best)
    if not apart:
        return ""
    if study.about["repeats"] < FEWEST:
        return f"Whether another policy needs more takes {FEWEST} orders to tell. "
    more = [name for name, way in apart.items() if way > 0]
    fewer = [name for name, way in apart.items() if way < 0]
    alike = [name for name, way in apart.items() if not way]
    said = [
        f"{few(names)} need{'s' * (len(names) == 1)} {what}, beyond chance. "
        for names, what in ((more, "more"), (fewer, "fewer"))
        if names
    ]
    told = f"{few(alike)} cannot be told from {best} by the number of nodes. " if alike else ""
    return "".join([*said, told])


def others(study: Study, first: str) -> str:
    """How many nodes the other policies need, a sentence each; empty where there is one policy."""
    rows = study.frames["policies"].iter_rows(named=True)
    apart = _apart(study, first) if study.about["repeats"] >= FEWEST else {}
    said = [_other(study, row, apart.get(row["policy"])) for row in rows if row["policy"] != first]
    return "".join(f" {one}" for one in said)


def _other(study: Study, row: Mapping[str, Any], way: int | None) -> str:
    name = named(study.about, row["policy"])
    known = f"{name}, what clusters run already," if name == USUAL else name
    if row["nodes"] is None:
        return f"Not even all are enough for {name}: {why_none(row)}."
    more = added(row)
    all_ = "all " if row["nodes"] == row["of"] and not more else ""
    sure = {0: "; that may be chance", 1: ", more beyond chance", -1: ", fewer beyond chance"}
    told = "" if way is None else sure[way]
    there = f", with {more:,} more than there are" if more else ""
    return f"{known} needs {all_}{row['nodes']:,}{there}{told}."


def _apart(study: Study, best: str) -> dict[str, int]:
    """Of each other policy that was searched: 1 where it needs more beyond chance, -1 fewer."""
    rows = study.frames["policies"].drop_nulls("nodes").iter_rows(named=True)
    # with other nodes added, or with none, it is another cluster
    further = {row["policy"] for row in rows if added(row)}
    counts = {
        str(name): part.sort("repeat")["nodes"].to_numpy().astype(np.float64)
        for (name,), part in study.frames["orders"].group_by("policy", maintain_order=True)
        if name not in further
    }
    rivals = [name for name in counts if name != best]
    if best not in counts or not rivals:
        return {}
    found = compare(np.stack([counts[name] - counts[best] for name in rivals], axis=1))
    ways = np.where(found.separated, np.sign(found.mean), 0).astype(int).tolist()
    return dict(zip(rivals, ways, strict=True))
