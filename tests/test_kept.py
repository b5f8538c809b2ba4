"""What is compiled is found without loading it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracekit import kept


def test_what_is_compiled_is_known_by_its_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "compiled_folder", lambda: tmp_path)
    kept.is_compiled.cache_clear()
    assert not kept.is_compiled("scan.py")
    (tmp_path / "read_0123").mkdir()
    (tmp_path / "read_0123" / "scan.scan-54.py311.nbi").touch()
    (tmp_path / "read_0123" / "scanner.rows-5.py311.nbi").touch()
    kept.is_compiled.cache_clear()
    assert kept.is_compiled("scan.py")
    assert not kept.is_compiled("plan.py")
    kept.is_compiled.cache_clear()


def test_numba_keeps_such_an_index() -> None:
    """The name that is looked for is the one that numba gives: asked of what it has compiled."""
    from tracekit.read import decimals  # noqa: PLC0415 - numba is loaded here alone

    names = [name for name in dir(decimals) if hasattr(getattr(decimals, name), "stats")]
    assert names
    path = Path(getattr(decimals, names[0]).stats.cache_path)
    assert path.parent == kept.compiled_folder()
