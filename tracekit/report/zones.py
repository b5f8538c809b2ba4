"""The zones of nodes, in words for somebody who has never heard of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracekit.sqlfiles import default_of

#: What CPU and memory of a node do, by the zones that have a correlation.
MOVES = {
    "A": "move against each other (correlation zone A)",
    "B": "are hardly related (correlation zone B)",
    "C": "rise and fall together (correlation zone C)",
}


@dataclass(frozen=True, kw_only=True)
class Zone:
    """A zone: what it is called and what it means."""

    name: str
    label: str
    rule: str
    meaning: str


def limit() -> float:
    """The correlation that separates the zones, as the query has it."""
    return default_of("usage/node_profile", "zone_limit")


def min_samples() -> int:
    """How many samples a node needs to get a zone, as the query has it."""
    return int(default_of("usage/node_profile", "min_samples"))


def all_zones() -> dict[str, Zone]:
    """Every zone by name, in the order of pages and legends."""
    edge = f"{limit():g}"
    zones = (
        Zone(
            name="A",
            label="A: apart",
            rule=f"r < \u2212{edge}",
            meaning="CPU and memory move against each other: while one is busy the other frees up.",
        ),
        Zone(
            name="B",
            label="B: unrelated",
            rule=f"\u2212{edge} \u2264 r < {edge}",
            meaning="CPU says little about memory: usually memory stays high and steady"
            " while CPU goes up and down with the requests.",
        ),
        Zone(
            name="C",
            label="C: together",
            rule=f"r \u2265 {edge}",
            meaning="CPU and memory rise and fall together, as when containers come and go.",
        ),
        Zone(
            name="U",
            label="U: undefined",
            rule="no r",
            meaning="CPU or memory never changed, so there is no correlation to speak of.",
        ),
        Zone(
            name="too_short",
            label="too short",
            rule=f"fewer than {min_samples()} samples",
            meaning="There are too few samples to say anything about how the two move.",
        ),
    )
    return {zone.name: zone for zone in zones}


def zone_label(name: str) -> str:
    """What legends call a zone; its own name when it is unknown."""
    zones = all_zones()
    return zones[name].label if name in zones else name


def largest(nodes: Mapping[str, int]) -> Sequence[str]:
    """The zone that holds most nodes, or those that hold as many; of those with a correlation."""
    known = {zone: many for zone, many in nodes.items() if zone in MOVES and many}
    most = max(known.values(), default=0)
    return sorted(zone for zone, many in known.items() if many == most)
