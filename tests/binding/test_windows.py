from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from plain_vcpus import (
    plain_candidates,
    score_instance,
    score_socket,
    windows,
)
from vcpu_support import GOLDEN

from tracekit.binding.occupancy import InterferenceModel
from tracekit.interference.topology import linux_numbering

CASE = GOLDEN["patent.socket_score"]


def golden_model() -> tuple[InterferenceModel, list[str]]:
    """The model of the golden case, and its services."""
    names = list(CASE["input"]["cpu_svc"])
    both = [CASE["input"]["coef(k1,k2)"][name] for name in names]
    model = InterferenceModel(
        cpu=np.array([CASE["input"]["cpu_svc"][name] for name in names]),
        k1=np.array([k1 for k1, _ in both]),
        k2=np.array([k2 for _, k2 in both]),
    )
    return model, names


def test_worked_windows() -> None:
    """Worked number of the specification, appendix B: 104 vCPUs, 0 to 3 used, request 8."""
    topology = linux_numbering(104, 2)
    free = [vcpu for vcpu in topology.vcpus_of(0).tolist() if vcpu > 3]
    found = windows(free, 8)
    assert len(found) == 21
    assert found[0] == tuple(range(4, 12))
    assert found[8] == (20, 21, 22, 23, 24, 25, 52, 53)
    assert found[-1] == tuple(range(70, 78))


@given(some.sets(some.integers(0, 60)), some.integers(1, 9), some.integers(1, 9))
def test_how_many_windows(free: set[int], request: int, step: int) -> None:
    found = windows(list(free), request, step)
    wanted = math.floor((len(free) - request) / step) + 1 if len(free) >= request else 0
    assert len(found) == wanted
    for window in found:
        assert list(window) == sorted(set(window) & free)
        assert len(window) == request


def test_golden_scores() -> None:
    model, names = golden_model()
    topology = linux_numbering(CASE["input"]["N"], CASE["input"]["S"])
    placed = {name: vcpus for name, (_, vcpus) in CASE["input"]["placed"].items()}
    services = {n: names.index(service) for n, (service, _) in CASE["input"]["placed"].items()}
    for name, wanted in CASE["expected"]["per_instance"].items():
        found = score_instance(topology, placed, services, model, name)
        assert found == pytest.approx(wanted["score"], abs=1e-9)
    found = score_socket(topology, placed, services, model, CASE["input"]["socket"])
    assert found == pytest.approx(CASE["expected"]["score_socket"], abs=1e-9)
    assert score_socket(topology, placed, services, model, 1) == 0


def test_no_candidate_where_the_service_runs_already() -> None:
    model, names = golden_model()
    topology = linux_numbering(16, 2)
    service = names.index("A")
    assert plain_candidates(topology, {"a": [0]}, {"a": service}, model, 2, service) == []
