"""Series that cannot be assigned to a container or node, or are no use of any."""

import re
from collections.abc import Iterable, Iterator

from tracekit.sources._cluster import Broken
from tracekit.sources.own._prometheus.metrics import USES
from tracekit.sources.own._prometheus.series import Series

IDLE = 'is of modes alone that are no use; ask for the others, too: {mode!~"idle|iowait|steal"}'
ON_HOST = (
    "is of pods alone that are on the network of their host: the host's use, which is left out"
)
AROUND = (
    "is of cgroups alone that are no container's, and no pod's as a whole; ask for those of"
    ' containers: {container!=""}'
)


#: Metrics by which somebody may mean use.
_OF_USE = re.compile("(container|node|pod)_(cpu|memory)_")


def not_read(names: Iterable[str]) -> Iterator[Broken]:
    """Metrics of CPU or memory that are not read, where a file has no other."""
    if some := sorted(name for name in names if _OF_USE.match(name)):
        read = ", ".join(name for name in USES if _OF_USE.match(name) and "_in_use" not in name)
        yield Broken(
            table="container_amount",
            line=1,
            reason=f"is of no metric that is read; these say what is in use: {read}",
            text=", ".join(some),
        )


class Unused:
    """Series that are no use of anybody, told where a file has nothing else of their metric."""

    def __init__(self) -> None:
        self._why: dict[str, tuple[Series, str]] = {}
        self._others: set[str] = set()

    def note(self, series: Series, why: str) -> None:
        """A series, and why it is left out; empty for one that is used, or told of."""
        if why:
            self._why.setdefault(series.name, (series, why))
        else:
            self._others.add(series.name)

    def told(self) -> Iterator[Broken]:
        """Why nothing of a metric is used."""
        for name, (series, why) in self._why.items():
            if name not in self._others:
                yield _not_used(series, why)


def _not_used(series: Series, why: str) -> Broken:
    return Broken(
        table=f"{USES[series.name].fills}_amount",
        line=series.line,
        reason=why,
        text=f"{series.name}{dict(series.labels)}",
    )


def nobody(series: Series, label: str) -> Broken:
    """A series without the label that would say it."""
    return _not_used(series, f"has no label {label}: it cannot be told whose use it is")


def unknown_node(series: Series, node: str) -> Broken:
    """A series of a node that no file describes."""
    return Broken(
        table="node_amount",
        line=series.line,
        column="node",
        reason=f"is '{node}', which no file describes, neither by its name nor by an address",
        text=f"{series.name}{dict(series.labels)}"[:200],
    )
