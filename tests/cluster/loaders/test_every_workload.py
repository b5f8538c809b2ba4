"""What every loader promises, and how workloads are spelled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from workload_support import OPENB, TIANCHI, parquet_folder, written

from tracekit.base import parameters
from tracekit.base.errors import TracekitError
from tracekit.base.seeds import stream
from tracekit.cluster.loaders import all_loaders, load_workload
from tracekit.cluster.workload import Workload

LOADERS = sorted(all_loaders())


def spelled(name: str, folder: Path) -> str:
    """How to ask for a small workload of each loader; one that is made up needs its name alone."""
    made: dict[str, Callable[[], str]] = {
        "openb": lambda: f"openb:{written(folder, OPENB)}",
        "paper000": lambda: "paper000[nodes=5,containers=50]",
        "parquet": lambda: f"parquet:{parquet_folder(folder)}",
        "tianchi18": lambda: f"tianchi18:{written(folder, TIANCHI)}",
    }
    return made[name]() if name in made or all_loaders()[name].files else name


@pytest.mark.parametrize("name", LOADERS)
def test_a_loader_says_what_it_is(name: str) -> None:
    kind = all_loaders()[name]
    assert kind.name() == name
    assert kind.title
    assert kind.source
    for note in parameters.about(kind).values():
        assert note.doc.endswith(".")


@pytest.mark.parametrize("name", LOADERS)
def test_the_same_seed_gives_the_same_workload(name: str, tmp_path: Path) -> None:
    text = spelled(name, tmp_path / "files")
    first, second = (load_workload(text, stream(4, "workload")) for _ in range(2))
    assert isinstance(first, Workload)
    assert first.container_ids == second.container_ids
    assert first.request.tolist() == second.request.tolist()
    assert str(tmp_path) not in f"{first.name} {first.assumptions} {first.facts}"
    assert set(first.assumptions) == set(parameters.names(all_loaders()[name]))


@pytest.mark.parametrize("name", [n for n in LOADERS if all_loaders()[n].files])
def test_only_its_own_files_are_recognised(name: str, tmp_path: Path) -> None:
    path = Path(spelled(name, tmp_path / "files").partition(":")[2])
    assert [other for other in LOADERS if all_loaders()[other].recognises(path)] == [name]
    assert load_workload(str(path), stream(0, "w")).containers > 0


def test_brackets_and_assumptions_say_the_same(tmp_path: Path) -> None:
    folder = written(tmp_path, OPENB)
    rng = stream(0, "workload")
    inside = load_workload(f"openb[gpu=count,used_share=0.5]:{folder}", rng)
    beside = load_workload(f"openb:{folder}", rng, assume=["gpu=count", "used_share=0.5"])
    assert inside.assumptions == beside.assumptions
    assert inside.usage.tolist() == beside.usage.tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("openb[gpu=count", "no such workload"),
        ("openb[gpu=maybe]:.", "must be 'ignore' or 'count', got 'maybe'"),
        ("openb[gpus=count]:.", "has no parameter 'gpus'"),
        ("parquet[x=1]:.", "workload parquet has no parameter 'x'; it has: start"),
        ("tianchi:x", "no workload named 'tianchi'"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(TracekitError) as raised:
        load_workload(text, stream(0, "workload"))
    assert message in raised.value.what
