"""What the replay of recommended requests found is told where they are recommended."""

from __future__ import annotations

import re
import shlex
from html import unescape
from pathlib import Path

import pytest

from tracekit.cli import run


def folder(at: Path, *, cores: float, used: float) -> Path:
    """Three nodes of 8 cores; six containers that ask for 2 cores and use ``used`` of them."""
    at.mkdir()
    nodes = "".join(f"n{one},{cores * 1000:.0f},{32 << 30}\n" for one in range(3))
    (at / "nodes.csv").write_text(f"node,cpu_milli,memory_bytes\n{nodes}")
    rows = "".join(f"c{one},s{one % 3},n{one % 3},0,,2000,{1 << 30}\n" for one in range(6))
    head = "container,service,node,arrival_ms,departure_ms,cpu_milli,memory_bytes\n"
    (at / "containers.csv").write_text(head + rows)
    use = "".join(
        f"c{one},{step * 600_000},{2000 * used * (1 + 0.05 * (step % 3)):.0f},{600 << 20}\n"
        for one in range(6)
        for step in range(72)
    )
    (at / "usage.csv").write_text(f"container,time_ms,cpu_milli,memory_bytes\n{use}")
    return at


def page() -> str:
    assert run(["report", "run", "--out", "page.html"]) == 0
    return unescape(Path("page.html").read_text(encoding="utf-8")).replace("\u00a0", " ")


TOO_MUCH = (
    "All nodes together have 24.0 cores of CPU, fewer than the 2",
    "default_scheduler leaves 3 of 6 containers without a node on average. Do not set",
)
ROOM = ("Replayed with these requests, default_scheduler comes to ", "with the requests of now")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cores", "used", "start", "says"),
    [(8.0, 1.6, "empty", TOO_MUCH), (16.0, 0.5, "empty", ROOM), (16.0, 0.5, "observed", ROOM)],
)
def test_the_proposal_is_followed_by_its_answer(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cores: float,
    used: float,
    start: str,
    says: tuple[str, ...],
) -> None:
    """The proposal vanished once it was followed, and nothing said what came of it."""
    monkeypatch.chdir(tmp_path)
    folder(tmp_path / "own", cores=cores, used=used)
    assert run(["ingest", "own", "store"]) == 0
    policies = ["--policy", "default_scheduler", "--policy", "first_fit"]
    given = ["--start", start] if start == "observed" else []
    assert run(["replay", "store", *policies, *given, "--out", "run"]) == 0
    assert run(["requests", "store", "--out", "studies/requests"]) == 0
    before = page()
    assert "Replayed with these requests" not in before
    proposed = re.search(r"tracekit replay[^<]*requests=sized[^<]*studies/requests-replay", before)
    assert proposed is not None
    # the run and its replay with other requests begin alike
    assert ("start=observed" in proposed[0]) == (start == "observed")
    assert run(shlex.split(proposed[0].replace("\\\n", " "))[1:]) == 0
    after = page()
    assert all(one in after for one in says)
    # what follows on the page of the requests begins as the run did, too
    shrunk = re.search(r"tracekit nodes[^<]*requests=sized[^<]*fewest-recommended", after)
    assert shrunk is not None
    assert ("start=observed" in shrunk[0]) == (start == "observed")
    assert "tracekit replay store --policy default_scheduler --assume requests=sized" not in after
