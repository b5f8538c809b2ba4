"""Finds the folders ``queries`` and ``reports``.

In an installed wheel they are inside the package; in a checkout or an editable install they are
beside it. The current folder is never searched.
"""

from pathlib import Path

from tracekit.base.errors import TracekitError

_PACKAGE = Path(__file__).resolve().parents[1]


def asset_dir(name: str) -> Path:
    """The folder ``queries`` or ``reports`` of this installation.

    Raises
    ------
    TracekitError
        When the installation has no such folder.
    """
    shipped = _PACKAGE / "_assets" / name
    if shipped.is_dir():
        return shipped
    checkout = _PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    raise TracekitError(
        f"this installation of tracekit has no '{name}' folder, looked in {shipped}",
        hint="reinstall tracekit; the wheel carries queries/ and reports/",
    )
