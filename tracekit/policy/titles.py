"""What people call a policy: its name, written out where that is an abbreviation."""

from tracekit.policy.placement import all_policies


def title_of_policy(spelled: str) -> str:
    """The name as a stranger reads it: ``balanced resource allocation (bra)``, ``production``."""
    name = spelled.partition("[")[0]
    kind = all_policies().get(name)
    if kind is None or not kind.title:
        return spelled
    return kind.title if name == "observed" else f"{kind.title} ({spelled})"
