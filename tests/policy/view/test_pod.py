"""What a pod requests, case by case."""

from __future__ import annotations

import pytest

from tracekit.policy.view.pods import Pod, PodContainer


def one(*, restartable: bool = False, **requests: int) -> PodContainer:
    return PodContainer(requests=requests, restartable=restartable)


MIB_200 = 209_715_200

CASES = {
    "no containers": (Pod(), {}, {}),
    "sum of containers": (
        Pod(containers=(one(cpu_milli=100, memory_bytes=5), one(cpu_milli=50, memory_bytes=1))),
        {"cpu_milli": 150, "memory_bytes": 6},
        {"cpu_milli": 150, "memory_bytes": 6},
    ),
    "missing counts as the default, per container": (
        Pod(containers=(one(cpu_milli=300), one(memory_bytes=7))),
        {"cpu_milli": 300, "memory_bytes": 7},
        {"cpu_milli": 400, "memory_bytes": MIB_200 + 7},
    ),
    "an explicit 0 stays 0": (
        Pod(containers=(one(cpu_milli=0, memory_bytes=0),)),
        {"cpu_milli": 0, "memory_bytes": 0},
        {"cpu_milli": 0, "memory_bytes": 0},
    ),
    "the largest init container when it needs more": (
        Pod(
            containers=(one(cpu_milli=100, memory_bytes=100),),
            init_containers=(
                one(cpu_milli=300, memory_bytes=50),
                one(cpu_milli=200, memory_bytes=60),
            ),
        ),
        {"cpu_milli": 300, "memory_bytes": 100},
        {"cpu_milli": 300, "memory_bytes": 100},
    ),
    # init 2 runs beside the sidecar: 500 + 100; afterwards 200 + 100
    "a sidecar runs beside what follows it": (
        Pod(
            containers=(one(cpu_milli=200, memory_bytes=1),),
            init_containers=(
                one(cpu_milli=550, memory_bytes=1),
                one(cpu_milli=100, memory_bytes=1, restartable=True),
                one(cpu_milli=500, memory_bytes=1),
            ),
        ),
        {"cpu_milli": 600, "memory_bytes": 2},
        {"cpu_milli": 600, "memory_bytes": 2},
    ),
    "sidecars add to the containers": (
        Pod(
            containers=(one(cpu_milli=200, memory_bytes=1),),
            init_containers=(one(cpu_milli=100, memory_bytes=1, restartable=True),),
        ),
        {"cpu_milli": 300, "memory_bytes": 2},
        {"cpu_milli": 300, "memory_bytes": 2},
    ),
    "overhead comes on top": (
        Pod(
            containers=(one(cpu_milli=200, memory_bytes=1),),
            init_containers=(one(cpu_milli=500, memory_bytes=1),),
            overhead={"cpu_milli": 10},
        ),
        {"cpu_milli": 510, "memory_bytes": 1},
        {"cpu_milli": 510, "memory_bytes": 1},
    ),
    "an init container has defaults too": (
        Pod(containers=(one(cpu_milli=20, memory_bytes=1),), init_containers=(one(),)),
        {"cpu_milli": 20, "memory_bytes": 1},
        {"cpu_milli": 100, "memory_bytes": MIB_200},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_requests(name: str) -> None:
    pod, request, nonzero = CASES[name]
    assert pod.request() == request
    assert pod.nonzero_request() == nonzero


def test_limits_add_up_like_requests() -> None:
    pod = Pod(
        containers=(PodContainer(limits={"cpu_milli": 5}), PodContainer(limits={"cpu_milli": 2})),
        init_containers=(PodContainer(limits={"cpu_milli": 6, "memory_bytes": 3}),),
    )
    assert pod.limit() == {"cpu_milli": 7, "memory_bytes": 3}
    assert Pod(containers=(PodContainer(),)).limit() == {}
