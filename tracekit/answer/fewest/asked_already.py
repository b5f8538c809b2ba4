"""What studies that are there have asked already, so that no page proposes it anew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracekit.answer.fewest.found import NODES
from tracekit.replay.chance.student import FEWEST
from tracekit.study import Study

#: The names of the studies, written here as both studies read this module.
_SHRUNK, _VARIED = "fewest_nodes", "assumptions"


@dataclass(frozen=True)
class AskedAlready:
    """Studies of one cluster, none where it is not known which there are."""

    studies: Sequence[Study] = ()

    def shrunk(self, policy: str, about: Mapping[str, Any], **otherwise: Any) -> bool:
        """Whether one asks how many nodes are enough for a policy.

        It asks as ``about`` does, what a study was about, but for what is named ``otherwise``.
        """
        wanted = {"repeats": FEWEST, **about, **otherwise}
        return any(
            study.name == _SHRUNK
            and policy in study.about["policies"]
            and _orders_enough(study.about, wanted["repeats"])
            and _question(study.about) == _question(wanted)
            for study in self.studies
        )

    def varied(self, policy: str, about: Mapping[str, Any]) -> bool:
        """Whether one changes assumptions of a policy, from those of ``about``."""
        return any(
            study.name == _VARIED
            and policy in study.about["policies"]
            and load_of(study.about) == load_of(about)
            for study in self.studies
        )


def load_of(about: Mapping[str, Any]) -> tuple[Any, ...]:
    """The facts by which one load of a cluster differs from another, before it is scaled."""
    load = about.get("workload", {})
    return load.get("assumptions"), bool(load.get("gangs"))


def _orders_enough(about: Mapping[str, Any], wanted: int) -> bool:
    """Whether the orders of arrival suffice; where every order is the recorded one, one does."""
    return bool(about.get("repeats_none")) or about["repeats"] >= min(wanted, FEWEST)


def _question(about: Mapping[str, Any]) -> tuple[Any, ...]:
    """What is asked. Limits that nobody gave follow from the load: they need not be compared."""
    return (
        *load_of(about),
        about.get("limits") if about.get("limits_given") else None,
        about.get("scale", 1),
        about.get("least") or NODES,
    )
