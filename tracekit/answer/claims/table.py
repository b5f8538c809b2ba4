"""The table of claims, ``reports/claims.toml``."""

import functools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracekit.base.facts import Followup, Scalar
from tracekit.base.folders import asset_dir

#: The experiment whose claims are judged by a store.
TRACE = "trace"
#: The folder whose store the commands of experiments read, and to which they write.
_DEMO = "demo"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a paper or other source, and the rule by which a measured number is judged.

    Parameters
    ----------
    title : str
        The name of the experiment.
    text, number : str
        The claim, and a description of the number by which it is judged.
    printed, tolerance : float, optional
        The number in the source, and the largest distance from it at which a number agrees.
    above, below : float, optional
        The limits of a claim without a tolerance.
    of : str
        What a sample is, such as nodes.
    fewest : int
        The fewest samples by which the claim is judged.
    if_met : str
        The precondition; empty for none.
    main : bool
        Whether the README shows the claim.
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
        """Return the command that gives the number for a given store.

        Paths of other folders in the command are moved next to the store. For an empty ``store``
        the command is unchanged.
        """
        if not store:
            return self.followup
        beside = Path(store).parent
        arguments = {
            name: store if name == "STORE" else _moved(value, beside)
            for name, value in self.followup.arguments.items()
        }
        return replace(self.followup, arguments=arguments)

    def agreeing(self) -> tuple[float, float]:
        """Return the lowest and the highest number that agree with the claim; may be infinite."""
        if self.tolerance is not None and self.printed is not None:
            return self.printed - self.tolerance, self.printed + self.tolerance
        return (
            -math.inf if self.above is None else self.above,
            math.inf if self.below is None else self.below,
        )


def _moved(value: Scalar | Sequence[str], beside: Path) -> Scalar | Sequence[str]:
    """A path in the demo moved to another folder; any other value as it is."""
    if isinstance(value, str) and Path(value).is_relative_to(_DEMO):
        return str(beside / Path(value).relative_to(_DEMO))
    return value


@functools.cache
def all_claims() -> Mapping[str, Claim]:
    """Return every claim about results that the project checks, by name, from the file of claims.

    A claim takes the settings that it lacks from its experiment.
    """
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
