"""Two ingests into one store at once: one is refused and touches nothing, the other finishes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from store_support import tree
from tests_support import TraceFolder

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest

#: Waits at its second file until it is told to go on.
WAITS = """
import sys, time
from pathlib import Path
from tracekit.intake.ingest import ingest, stage

real, calls, signs = stage.write_sorted, 0, Path(sys.argv[3])

def waiting(*args):
    global calls
    calls += 1
    if calls == 2:
        (signs / "waits").touch()
        while not (signs / "go").exists():
            time.sleep(0.01)
    return real(*args)

stage.write_sorted = waiting
ingest(sys.argv[1], sys.argv[2])
"""

#: Begins round after round together with others, each time into a store that is not there yet.
TOGETHER = """
import sys, time
from pathlib import Path
from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest

signs, me, rounds = Path(sys.argv[3]), sys.argv[4], int(sys.argv[5])
for number in range(rounds):
    (signs / f"{number}.{me}").touch()
    while len(list(signs.glob(f"{number}.*"))) < int(sys.argv[6]):
        time.sleep(0.0005)
    try:
        ingest(sys.argv[1], f"{sys.argv[2]}.{number}")
        print(number, "done")
    except TracekitError as error:
        print(number, "is being written" if "is being written by" in error.what else repr(error))
"""


@pytest.mark.slow
@pytest.mark.parametrize("begun", [False, True])
def test_a_second_ingest_is_refused_and_the_first_finishes(
    traces: TraceFolder, tmp_path: Path, begun: bool
) -> None:
    store, whole = tmp_path / "store", tmp_path / "undisturbed"
    if begun:
        ingest(traces.path / "Node_0.csv", store)
        ingest(traces.path / "Node_0.csv", whole)
    ingest(traces.path, whole)
    arguments = [str(traces.path), str(store), str(tmp_path)]
    with subprocess.Popen([sys.executable, "-c", WAITS, *arguments]) as first:
        until = time.monotonic() + 60
        while not (tmp_path / "waits").exists():
            assert first.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        before = tree(store)
        with pytest.raises(TracekitError):
            ingest(traces.path, store)
        assert tree(store) == before
        (tmp_path / "go").touch()
    assert first.returncode == 0
    assert tree(store) == tree(whole)


@pytest.mark.slow
def test_ingests_that_start_together_before_the_store_is_there(
    traces: TraceFolder, tmp_path: Path
) -> None:
    rounds, writers = 6, 2
    ingest(traces.path, tmp_path / "undisturbed")
    signs = tmp_path / "signs"
    signs.mkdir()
    command = [sys.executable, "-c", TOGETHER, str(traces.path), str(tmp_path / "store")]
    running = [
        subprocess.Popen(
            [*command, str(signs), str(me), str(rounds), str(writers)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for me in range(writers)
    ]
    said = [line for one in running for line in one.communicate(timeout=120)[0].splitlines()]
    assert len(said) == rounds * writers
    for number in range(rounds):
        outcomes = {line.partition(" ")[2] for line in said if line.startswith(f"{number} ")}
        assert "done" in outcomes
        assert outcomes <= {"done", "is being written"}
        found = tree(tmp_path / f"store.{number}")
        assert found == tree(tmp_path / "undisturbed")
