"""Compiled code in the cache folder, and seeds of orders of arrival."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tracekit.base import folders
from tracekit.base.arrays import order_seed


def test_what_is_compiled_is_known_by_its_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "compiled_folder", lambda: tmp_path)
    folders.is_compiled.cache_clear()
    assert not folders.is_compiled("scan.py")
    (tmp_path / "read_0123").mkdir()
    (tmp_path / "read_0123" / "scan.scan-54.py311.nbi").touch()
    (tmp_path / "read_0123" / "scanner.rows-5.py311.nbi").touch()
    folders.is_compiled.cache_clear()
    assert folders.is_compiled("scan.py")
    assert not folders.is_compiled("plan.py")
    folders.is_compiled.cache_clear()


def test_numba_keeps_such_an_index() -> None:
    """The name that is looked for is the one that numba gives: asked of what it has compiled."""
    from tracekit.intake.read import scan  # noqa: PLC0415 - numba is loaded here alone

    names = [name for name in dir(scan) if hasattr(getattr(scan, name), "stats")]
    assert names
    path = Path(getattr(scan, names[0]).stats.cache_path)
    assert path.parent == folders.compiled_folder()


@pytest.mark.slow
def test_all_that_is_compiled_lies_in_a_room_of_the_digest() -> None:
    """Else an edited function meets what was compiled from it before."""
    package = Path(folders.__file__).parents[1]
    outside, seen = [], set()
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {
            alias.asname or alias.name: node.module or ""
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        makers = {name for name, module in imported.items() if module == "tracekit.base.jit"}
        if not any(name.startswith("compiled") for name in makers):
            continue
        homes = [path.relative_to(package).with_suffix("").as_posix()]
        held = [imported[one] for one in imported if one.isupper() and one not in makers]
        homes += [one[9:].replace(".", "/") for one in held if one.startswith("tracekit.")]
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in makers:
                named = {one.id for one in call.args if isinstance(one, ast.Name)} - makers
                homes += [imported[one][9:].replace(".", "/") for one in named if one in imported]
        seen |= set(homes)
        outside += [home for home in homes if not home.startswith(folders._ROOMS)]
    assert "analysis/metrics/load" in seen
    assert "intake/read/scan" in seen
    assert outside == []


def test_no_two_seeds_share_a_further_order() -> None:
    seeds = [order_seed(seed, number) for seed in range(40) for number in range(1, 100)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= one < 2**63 for one in (*seeds, order_seed(2**63 - 1, 99)))
