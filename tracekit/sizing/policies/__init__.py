"""Sizing policies: one policy per file beside this; the interface is ``sizing/policy.py``."""

import functools
import sys

from tracekit import parameters, registry
from tracekit.errors import unknown_name
from tracekit.sizing.policy import SizingPolicy


@functools.cache
def all_sizing_policies() -> dict[str, type[SizingPolicy]]:
    """Every sizing policy, by name."""
    return registry.subclasses(sys.modules[__name__], SizingPolicy)


def parse_sizing_policy(text: str) -> SizingPolicy:
    """The policy that ``NAME[param=value,...]`` spells; ``str`` of it is the same text again."""
    name, given = parameters.split(text)
    known = all_sizing_policies()
    if name not in known:
        raise unknown_name("sizing policy", name, known, listing="tracekit list sizing_policies")
    made = parameters.build(known[name], f"policy {name}", given)
    if not isinstance(made, SizingPolicy):
        raise TypeError(name)
    return made
