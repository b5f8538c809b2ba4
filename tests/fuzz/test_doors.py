"""A hundred damaged inputs, shared out among the doors; ``make fuzz`` tries ten thousand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from campaign import Campaign
from door import Case, all_doors
from doors.csv import fate
from doors.texts import Words
from forks import Done, shared
from mutate import mutated_bytes, mutated_json, mutated_line, mutated_text
from tests_support import NODE_HEADER

_INPUTS = 120
_SEED = 1
DOORS = all_doors()


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return Campaign(tmp_path_factory.mktemp("fuzz"), shared(), _SEED)


def test_the_doors_share_all_cases() -> None:
    assert sum(door.share for door in DOORS.values()) == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", DOORS)
def test_damaged_inputs_are_dealt_with(name: str, campaign: Campaign) -> None:
    inputs = range(max(round(_INPUTS * DOORS[name].share), 1))
    names = list(campaign.run(name, DOORS[name], inputs))
    assert [str(fault) for fault in names] == []
    assert campaign.inputs[name] >= len(inputs)


@pytest.mark.parametrize(
    ("line", "rejected"),
    [
        ("0,30000,a,0.5,0.5", 0),
        ("0,30000.0,a,0.5,0.5", 0),
        ("0,30000,a,0.5,0.5\r", 0),
        ("0,30000.5,a,0.5,0.5", 1),
        ("0,-1,a,0.5,0.5", 1),
        ("0,1_000,a,0.5,0.5", 1),
        ("0,30000 ,a,0.5,0.5", 1),
        ("0,30000,(?),0.5,0.5", 1),
        ("0,30000,a,nan,0.5", 1),
        ("0,30000,a,0.5", 1),
        ("", 1),
    ],
)
def test_what_a_line_is_expected_to_become(line: str, rejected: int) -> None:
    result = fate("Node", f"{NODE_HEADER}\n{line}\n")
    assert (result.read, result.rejected) == (1, rejected)
    wanted = {(("time_ms", 30000), ("cpu_fraction", 0.5), ("memory_fraction", 0.5))}
    assert result.values == (set() if rejected else wanted)


@pytest.mark.parametrize(
    ("mutate", "thing"),
    [
        (mutated_bytes, b"some bytes " * 9),
        (mutated_text, "least_allocated"),
        (mutated_json, {"a": [1, {"b": "c"}], "d": 0.5}),
        (mutated_line, "0,1,a,0.5"),
    ],
)
def test_damage_is_done_and_is_the_same_for_the_same_seed(mutate: object, thing: object) -> None:
    assert callable(mutate)

    def damaged(seed: int) -> list[object]:
        rng = np.random.Generator(np.random.PCG64(seed))
        return [mutate(thing, rng) for _ in range(20)]

    assert damaged(3) == damaged(3)
    assert sum(one != thing for one in damaged(3)) >= 15


@pytest.mark.slow
def test_a_fault_is_found_and_kept(tmp_path: Path) -> None:
    """A door that the product does not keep is seen: the verdict can fail."""

    class Strict(Words):
        def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
            return "as planted"

    campaign = Campaign(tmp_path, shared(), 0, tmp_path / "faults")
    (replayed,) = campaign.run("strict", Strict(), range(1))
    assert replayed.why == "as planted" or "bug" in replayed.why
    assert replayed.kept is not None
    assert (replayed.kept / "SAID.txt").exists()
