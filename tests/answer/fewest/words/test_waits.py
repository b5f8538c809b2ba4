"""What is said to hold of waiting containers never contradicts a limit that was given."""

import dataclasses

import pytest
from shrink_support import EVEN, shrunk

from tracekit.answer.fewest.words import margin, told, waits

NEVER, STEPS = "pending <= 1", "pending_container_steps <= 20"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "every container is placed at once"),
        ((STEPS,), "every container is placed in the end"),
        ((NEVER, STEPS), ""),
        ((NEVER,), "no container waits in any step, one that is left without a node either"),
    ],
)
def test_what_holds_beside_the_limits_given(given: tuple[str, ...], said: str) -> None:
    study = shrunk(EVEN, *given, policies=["worst_fit"])
    assert waits.limit(study).partition(" (")[0] == said
    found = told.told(study)
    assert found is not None
    assert "The tightest limit" not in margin.margin(found)


def test_waiting_while_the_cluster_fills_is_not_judged() -> None:
    load = dataclasses.replace(EVEN, settled_ms=int(EVEN.times_ms[2]))
    study = shrunk(load, policies=["worst_fit"])
    assert waits.limit(study) == ("every container is placed, at once in the time that is judged")
