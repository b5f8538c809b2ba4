"""Files of policies do not know each other: what two of them share is a helper file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tracekit

POLICY_ROOM = Path(tracekit.__file__).parent / "policy"
#: Upstream composes it of whole plugins, and so does tracekit.
COMPOSED = {
    "default_scheduler": {"node_resources"},
}
POLICIES = sorted(
    path
    for folder in ("placement", "rebalance")
    for path in (POLICY_ROOM / folder).glob("[!_]*.py")
)


def imported(path: Path) -> set[str]:
    """Modules that a file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("path", POLICIES, ids=[path.stem for path in POLICIES])
def test_a_file_of_policies_imports_no_other(path: Path) -> None:
    package = f"tracekit.policy.{path.parent.name}"
    allowed = {path.stem} | COMPOSED.get(path.stem, set())
    others = {f"{package}.{other.stem}" for other in POLICIES} - {
        f"{package}.{name}" for name in allowed
    }
    assert imported(path) & others == set()
