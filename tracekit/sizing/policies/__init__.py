"""Sizing policies: one policy per file beside this; the interface is ``sizing/policy.py``."""

import functools
import sys

from tracekit.base import parameters, registry
from tracekit.sizing.policy import SizingPolicy


@functools.cache
def all_sizing_policies() -> dict[str, type[SizingPolicy]]:
    """Every sizing policy, by name."""
    return registry.subclasses(sys.modules[__name__], SizingPolicy)


def parse_sizing_policy(text: str) -> SizingPolicy:
    """The policy that ``NAME[param=value,...]`` spells; ``str`` of it is the same text again."""
    name, given = parameters.split(text)
    listing = "tracekit list sizing_policies"
    kind = registry.pick(all_sizing_policies(), name, "sizing policy", listing=listing)
    made = parameters.build(kind, f"policy {name}", given)
    if not isinstance(made, SizingPolicy):
        raise TypeError(name)
    return made
