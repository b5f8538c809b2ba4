"""What an installed package brings is registered by its name; other kinds are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

POLICY = '''
from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.placement import PlacementPolicy


@dataclass(frozen=True, kw_only=True)
class Ours(PlacementPolicy):
    """The first node."""

    reads: ClassVar = frozenset({"requests"})
    source: ClassVar = "a package"

    def score(self, snapshot, container, nodes):
        return -nodes.astype(float)
'''
MEASURE = """
from tracekit.replay.measures import Measure, Step

MEASURE = Measure(
    title="Nodes", meaning="all", formula="n", group="detail", unit="nodes", better=None,
    because="a count", order=99_000, step=Step(column="n", at=lambda sampled: sampled.fractions),
)
"""
SOURCE = """
from dataclasses import replace

from tracekit.intake.sources.released.alibaba_microservices import CTM21

SOURCE = replace(CTM21, name="our_trace")
"""
ASKED = """
import json
from tracekit.replay.measures import all_measures
from tracekit.policy.placement import all_policies
from tracekit.intake.sources import all_sources
print(json.dumps([name in every for name, every in (
    ("our_policy", all_policies()), ("our_nodes", all_measures()), ("our_trace", all_sources()))]))
"""


def _asked(folder: Path, points: str) -> subprocess.CompletedProcess[str]:
    """A Python beside which a package with these entry points is installed."""
    for name, text in (("our_policy", POLICY), ("our_measure", MEASURE), ("our_source", SOURCE)):
        (folder / f"{name}.py").write_text(text)
    info = folder / "ours-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", ASKED],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_package_brings_a_policy_a_measure_and_a_source(tmp_path: Path) -> None:
    done = _asked(
        tmp_path,
        "[tracekit.policies]\nour_policy = our_policy:Ours\n"
        "[tracekit.measures]\nour_nodes = our_measure:MEASURE\n"
        "[tracekit.intake.sources]\nour_trace = our_source:SOURCE\n",
    )
    assert json.loads(done.stdout) == [True, True, True], done.stderr


@pytest.mark.parametrize(
    "point", ["best_fit = our_policy:Ours", "our_policy = our_measure:MEASURE"]
)
def test_another_kind_or_name_is_refused(tmp_path: Path, point: str) -> None:
    done = _asked(tmp_path, f"[tracekit.policies]\n{point}\n")
    assert done.returncode == 1
    assert "TracekitError" in done.stderr
