"""The wheel carries what the checkout has, and works where no checkout is."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ("tracekit", "queries", "reports")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="hatchling builds the wheel: pip install hatchling")
    out = tmp_path_factory.mktemp("wheel")
    build = "import sys, hatchling.build as b; print(b.build_wheel(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", build, str(out)], cwd=ROOT, check=True)
    (path,) = out.glob("*.whl")
    return path


def shipped_name(path: str) -> str:
    return path if path.startswith("tracekit/") else f"tracekit/_assets/{path}"


def test_the_wheel_holds_every_tracked_file_and_nothing_else(wheel: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--", *SHIPPED], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    expected = {shipped_name(path) for path in listed.stdout.splitlines()}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == expected


@pytest.mark.slow
def test_the_installed_wheel_finds_its_queries_and_reports(wheel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    site = next((folder / "lib").glob("python*")) / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # the libraries are borrowed from this environment; tracekit itself must come from the wheel
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (site / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
    code = (
        "import tracekit, tracekit.base.folders as a; print(tracekit.__file__);"
        "print(a.asset_dir('queries')); print(a.asset_dir('reports'));"
        "print(len(tracekit.listing('queries')), len(tracekit.listing('reports')))"
    )
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    module, queries, reports, counts = done.stdout.splitlines()
    for path in (module, queries, reports):
        assert path.startswith(str(site)), path
    assert counts == f"{len(list(ROOT.glob('queries/*/*.sql')))} " + str(
        len([path for path in ROOT.glob("reports/*.html") if not path.name.startswith("_")])
    )
