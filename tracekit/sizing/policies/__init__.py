"""Sizing policies, each a class in a file of this folder; the interface is in ``sizing/policy.py``."""

import functools
import sys
from collections.abc import Iterable, Sequence

from tracekit.base import parameters, registry
from tracekit.base.errors import TracekitError
from tracekit.sizing.policy import SizingPolicy


@functools.cache
def all_sizing_policies() -> dict[str, type[SizingPolicy]]:
    """Every sizing policy, by name."""
    return registry.subclasses(sys.modules[__name__], SizingPolicy)


def parse_sizing_policy(text: str) -> SizingPolicy:
    """The policy of a text ``NAME[param=value,...]``; ``str`` of the policy is the same text."""
    name, given = parameters.split(text)
    listing = "tracekit list sizing_policies"
    kind = registry.pick(all_sizing_policies(), name, "sizing policy", listing=listing)
    made = parameters.build(kind, f"policy {name}", given)
    if not isinstance(made, SizingPolicy):
        raise TypeError(name)
    return made


def parse_sizing_policies(
    texts: Iterable[str], every: Sequence[SizingPolicy]
) -> tuple[SizingPolicy, ...]:
    """The policies of texts, each once and in order; the text ``all`` gives ``every``.

    Raises TracekitError for an unknown name or parameter, and for no text.
    """
    spelled = [
        policy
        for text in texts
        for policy in (every if text == "all" else [parse_sizing_policy(text)])
    ]
    if not spelled:
        raise TracekitError(
            "no policy given", hint="--policy all, or tracekit list sizing_policies"
        )
    return tuple({str(policy): policy for policy in spelled}.values())
