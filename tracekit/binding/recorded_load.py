"""Whether the recorded binding is of the same load as the others: of as many vCPUs."""

from __future__ import annotations

from collections.abc import Mapping

#: The way that binds as production did.
RECORDED = "recorded"
#: Sums of vCPUs that lie closer than this are taken for the same load.
_SAME = 0.05


def unlike_recorded(vcpus: Mapping[str, float]) -> str:
    """Why what is lost as recorded is not of the load of the others; empty where it is.

    Other ways bind as many vCPUs as a container requests; the recorded sets may be of other sizes.

    Parameters
    ----------
    vcpus : mapping of str to float
        How many vCPUs are bound under each way, mean over time.
    """
    others = [bound for name, bound in vcpus.items() if name != RECORDED]
    ours = vcpus.get(RECORDED)
    if not ours or not others or abs(max(others) / ours - 1) < _SAME:
        return ""
    return (
        f"The recorded sets have {ours:,.0f} vCPUs, the others as many as is requested,"
        f" {max(others):,.0f}: what is lost as recorded is not of the same load."
    )
