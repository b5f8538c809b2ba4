"""The fit that lies beside a store, as a policy reads it: ``interference[fit=beside]``.

The name of a policy says nothing of where folders lie, so that a run is the same in any folder; its
address does, so that another process finds the fit.
"""

from __future__ import annotations

from pathlib import Path

from tracekit.replay.placement.interference import BESIDE, Interference
from tracekit.replay.policy.entrant import Entrant, parse_entrant

#: What a fit is called beside its store.
FOLDER = "fit"


def fit_beside(store: Path | str) -> Path:
    """Where the fit of a store is looked for."""
    return Path(store).resolve().parent / FOLDER


def with_fit(entrant: Entrant, folder: Path, *, unasked: bool = False) -> Entrant:
    """The policy with the folder in place of ``beside``.

    Parameters
    ----------
    unasked : bool
        Whether policy ``interference`` with its defaults takes the fit, too.
    """
    text, told = entrant.address(), f"fit={BESIDE}:{folder}"
    found = text.replace(f"fit={BESIDE}]", f"{told}]").replace(f"fit={BESIDE},", f"{told},")
    if unasked:
        name = Interference.name()
        found = found.replace(f"{name}[]", f"{name}[{told}]")
    return entrant if found == text else parse_entrant(found)
