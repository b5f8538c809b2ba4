"""The policy that a text spells: by its name, by an alias, by the file of a user's own, or several.

``NAME[param=value,...]`` is one, ``0.7*NAME[...]+0.3*NAME[...]`` a profile of several, and a name
that ends in ``.yaml`` or ``.json`` the configuration of a scheduler.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracekit.base import parameters
from tracekit.base.documents.yaml_file import is_document
from tracekit.base.errors import TracekitError, unknown_name
from tracekit.policy.from_file import configured, load_own_policy
from tracekit.policy.nearness import near_kind
from tracekit.policy.placement import PlacementPolicy, all_policies, called
from tracekit.policy.profile import EXAMPLE, Part, weighted


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
    found = called(name, all_policies())
    if found is not None:
        return found
    listed = [one.strip() for one in name.split(",")]
    if len(listed) > 1 and set(listed) & set(all_policies()):
        raise TracekitError(
            f"'{name}' is a list, and --policy takes one at a time",
            hint=f"repeat it: {' '.join(f'--policy {one}' for one in listed)}",
        )
    raise unknown_name("policy", name, all_policies(), listing="tracekit list policies")


def parse_policy(text: str) -> PlacementPolicy:
    """The policy that a text spells; ``str`` of it is the same text again."""
    terms = [_term(part) for part in terms_of(text)]
    if any(weight is not None for weight, _ in terms):
        return weighted([_part(weight, name, text) for weight, name in terms])
    name, given = parameters.split(text)
    if is_document(name):
        return configured(Path(name), given)
    return build_policy(get_policy(name), given)


def cut(text: str) -> tuple[str, str | None]:
    """The text of the placement policy, and that of the rebalancer behind it if there is one.

    A rebalancer is the last of the terms between '+', where that has no weight.
    """
    terms = terms_of(text)
    if len(terms) == 1 or _term(terms[-1])[0] is not None:
        return text.strip(), None
    return "+".join(terms[:-1]), terms[-1]


def terms_of(text: str) -> list[str]:
    """The parts between the '+' outside brackets."""
    found, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "+" and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    return [*found, text[start:].strip()]


def _term(text: str) -> tuple[str | None, str]:
    """The weight before a '*' outside brackets, None where there is none, and what it weighs."""
    weight, star, rest = text.partition("*")
    return (None, text) if not star or "[" in weight else (weight.strip(), rest.strip())


def _part(weight: str | None, name: str, text: str) -> Part:
    if weight is None:
        raise TracekitError(f"'{name}' in '{text}' has no weight, others have", hint=EXAMPLE)
    try:
        return Part(float(weight), parse_policy(name))
    except ValueError:
        raise TracekitError(f"'{weight}' in '{text}' is no weight", hint=EXAMPLE) from None


def build_policy(kind: type[PlacementPolicy], given: Mapping[str, str]) -> PlacementPolicy:
    """A policy with parameters given as text; ``near_weight`` is a parameter of all of them.

    What is given is spelled, though it be the default: two spellings of one policy are two rows,
    each with a random stream of its own.
    """
    if "near_weight" in given and "near_weight" not in parameters.names(kind):
        kind = near_kind(kind)
    made: Any = parameters.build(kind, f"policy {kind.name()}", given)
    if not isinstance(made, PlacementPolicy):
        raise TypeError(kind)
    # a fact of this one, no parameter: the class is frozen
    object.__setattr__(made, "told", frozenset(given))
    return made
