"""Sentences that figures and findings share."""

from tracekit.words import count


def not_recorded(nodes: int) -> str:
    """A sentence on nodes that do not count, as nobody recorded their use; empty for none."""
    if not nodes:
        return ""
    noun, verb = count(nodes, "further node"), "is" if nodes == 1 else "are"
    return f"{noun}, whose use is not recorded, {verb} left out."
