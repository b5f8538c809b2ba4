"""The policy that a text spells: by its name, by an alias, or by the file of a user's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracekit import parameters
from tracekit.errors import unknown_name
from tracekit.replay.placement import VENDORS, PlacementPolicy, all_policies
from tracekit.replay.policy.nearness import near_kind
from tracekit.replay.policy.own_policy import load_own_policy


def policies_of(word: str) -> list[str]:
    """The names that ``all`` or ``common`` stands for, in order; any other text is one policy."""
    known = all_policies()
    if word == "common":
        return sorted(name for name, kind in known.items() if kind.common)
    return sorted(known) if word == "all" else [word]


def get_policy(name: str) -> type[PlacementPolicy]:
    """The policy of that name, of one of its aliases, or of a user's own file ``PATH.py``."""
    if name.endswith(".py"):
        return load_own_policy(Path(name))
    plain = name
    for vendor in VENDORS:
        plain = plain.removeprefix(vendor)
    for known, policy in all_policies().items():
        if known in (name, plain) or name in policy.aliases or plain in policy.aliases:
            return policy
    raise unknown_name("policy", name, all_policies(), listing="tracekit list policies")


def parse_policy(text: str) -> PlacementPolicy:
    """The policy that ``NAME[param=value,...]`` spells; ``str`` of it is the same text again."""
    name, given = parameters.split(text)
    return build_policy(get_policy(name), given)


def build_policy(kind: type[PlacementPolicy], given: Mapping[str, str]) -> PlacementPolicy:
    """A policy with parameters given as text; ``near_weight`` is a parameter of all of them."""
    if "near_weight" in given and "near_weight" not in parameters.names(kind):
        kind = near_kind(kind)
    made: Any = parameters.build(kind, f"policy {kind.name()}", given)
    if not isinstance(made, PlacementPolicy):
        raise TypeError(kind)
    return made
