"""The table of claims, ``reports/claims.toml``: what each source claims and what judges it."""

import functools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracekit.base.assets import asset_dir
from tracekit.base.facts import Followup, Scalar

#: The experiment that a store is.
TRACE = "trace"
#: The folder that the commands of experiments write to, and whose store they read.
_DEMO = "demo"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a source.

    Parameters
    ----------
    title : str
        What the experiment is called.
    text, number : str
        What is claimed, and the number that judges it.
    printed, tolerance : float, optional
        The number that the source prints, and how far from it a number still agrees.
    above, below : float, optional
        The edge of a claim without tolerance.
    of, fewest : str, int
        What a sample is, and with fewer of them nothing is judged.
    if_met : str
        What the value depends on; empty for nothing.
    main : bool
        Whether it is one of the few that the README shows.
    followup : Followup
        The command that gives the number.
    """

    name: str
    source: str
    experiment: str
    title: str
    text: str
    number: str
    unit: str
    of: str
    fewest: int
    followup: Followup
    printed: float | None = None
    tolerance: float | None = None
    above: float | None = None
    below: float | None = None
    if_met: str = ""
    main: bool = False

    def of_store(self, store: str) -> Followup:
        """The command that gives the number, of a store and of the folders beside it."""
        if not store:
            return self.followup
        beside = Path(store).parent
        arguments = {
            name: store if name == "STORE" else _moved(value, beside)
            for name, value in self.followup.arguments.items()
        }
        return replace(self.followup, arguments=arguments)

    def agreeing(self) -> tuple[float, float]:
        """From where to where a number agrees."""
        if self.tolerance is not None and self.printed is not None:
            return self.printed - self.tolerance, self.printed + self.tolerance
        return (
            -math.inf if self.above is None else self.above,
            math.inf if self.below is None else self.below,
        )


def _moved(value: Scalar | Sequence[str], beside: Path) -> Scalar | Sequence[str]:
    """A path of the demo as one of another folder; any other value as it is."""
    if isinstance(value, str) and Path(value).is_relative_to(_DEMO):
        return str(beside / Path(value).relative_to(_DEMO))
    return value


@functools.cache
def all_claims() -> Mapping[str, Claim]:
    """Every claim, by name: what its experiment says of all its claims, and its own."""
    path = asset_dir("reports") / "claims.toml"
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        name: _claim(name, experiment, {**made, **own}, document["sources"])
        for experiment, made in document["experiments"].items()
        for name, own in made["claims"].items()
    }


def _claim(
    name: str, experiment: str, given: Mapping[str, Any], sources: Mapping[str, str]
) -> Claim:
    query = {"NAME": given["query"]} if "query" in given else {}
    apart = ("claims", "command", "arguments", "query", "source")
    return Claim(
        name=name,
        experiment=experiment,
        source=sources[given["source"]],
        followup=Followup(
            question="claim",
            command=given["command"],
            arguments={**given["arguments"], **query},
        ),
        **{key: value for key, value in given.items() if key not in apart},
    )
