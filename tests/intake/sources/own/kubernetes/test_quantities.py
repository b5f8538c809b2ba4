"""What containers and pods ask for: quantities, what the scheduler counts, resize in place."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes_support import (
    container,
)

from tracekit.intake.sources.own._kubernetes.requests import QuantityError, amount, effective, fixed

QUANTITIES = [
    ("100m", "0.1"),
    ("1", "1"),
    ("1.5", "1.5"),
    ("2e3", "2000"),
    ("129E6", "129000000"),
    ("128974848", "128974848"),
    ("129M", "129000000"),
    ("123Mi", "128974848"),
    ("128974848000m", "128974848"),
    ("12345678n", "0.012345678"),
    ("5u", "0.000005"),
    ("1234Ki", "1263616"),
    ("1E", "1000000000000000000"),
    ("1Ei", "1152921504606846976"),
    ("-500m", "-0.5"),
]


@pytest.mark.parametrize(("text", "value"), QUANTITIES)
def test_quantities_are_those_of_kubernetes(text: str, value: str) -> None:
    assert amount(text) == float(Decimal(value))


@pytest.mark.parametrize(
    "text", ["", "two", "1 GB", "5%", "$3", "nan", "inf", "1_000", "1c", "1e19"]
)
def test_other_texts_are_no_quantities(text: str) -> None:
    with pytest.raises(QuantityError, match="expected a quantity"):
        amount(text)


@given(
    st.decimals(0, 10**9, places=3),
    st.sampled_from([("", 0), ("m", -3), ("k", 3), ("M", 6), ("u", -6), ("n", -9), ("G", 9)]),
)
def test_a_decimal_quantity_is_exact_to_the_last_bit(
    number: Decimal, suffix: tuple[str, int]
) -> None:
    assert amount(f"{number}{suffix[0]}") == float(number.scaleb(suffix[1]))


SIZES: list[tuple[str, Mapping[str, Any], dict[str, tuple[float | None, float | None]]]] = [
    ("two add up", {"containers": [container("500m"), container("1")]}, {"cpu": (1.5, None)}),
    (
        "an init container that is larger",
        {"containers": [container("1")], "initContainers": [container("3")]},
        {"cpu": (3.0, None)},
    ),
    (
        "a sidecar is added, and runs beside the init containers after it",
        {
            "containers": [container("1")],
            "initContainers": [
                container("4"),
                container("1", restartPolicy="Always"),
                container("3500m"),
            ],
        },
        {"cpu": (4.5, None)},
    ),
    (
        "a limit without a request is the request",
        {"containers": [container(limits={"cpu": "2", "memory": "1Gi"})]},
        {"cpu": (2.0, 2.0), "memory": (2.0**30, 2.0**30)},
    ),
    (
        "one without a limit, and the pod has none",
        {"containers": [container("1", limits={"cpu": "2"}), container("1")]},
        {"cpu": (2.0, None)},
    ),
    (
        "overhead comes on top",
        {"containers": [container("1", limits={"cpu": "2"})], "overhead": {"cpu": "250m"}},
        {"cpu": (1.25, 2.25)},
    ),
    (
        "what the pod states holds",
        {"containers": [container("1")], "resources": {"requests": {"cpu": "5"}}},
        {"cpu": (5.0, None)},
    ),
    (
        "overhead comes on top of what the pod states, too",
        {
            "containers": [container("1")],
            "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}},
            "overhead": {"cpu": "250m"},
        },
        {"cpu": (2.25, 4.25)},
    ),
    ("nothing is stated", {"containers": [container()]}, {}),
]


@pytest.mark.parametrize(("_", "spec", "sizes"), SIZES, ids=[case[0] for case in SIZES])
def test_a_pod_asks_for_what_the_scheduler_counts(
    _: str, spec: Mapping[str, Any], sizes: dict[str, tuple[float | None, float | None]]
) -> None:
    assert effective(spec) == sizes


def _has(cpu: str, **more: Any) -> dict[str, Any]:
    """The status of a container."""
    return {"name": "main", "resources": {"requests": {"cpu": cpu}}, **more}


PENDING = {"type": "PodResizePending", "status": "True"}
RESIZED: list[tuple[str, dict[str, Any], float]] = [
    ("as asked for", {"containerStatuses": [_has("1")]}, 1.5),
    ("it has still more", {"containerStatuses": [_has("3")]}, 3.5),
    ("it has still less", {"containerStatuses": [_has("100m")]}, 1.5),
    (
        "more is kept for it",
        {"containerStatuses": [_has("100m", allocatedResources={"cpu": "2"})]},
        2.5,
    ),
    (
        "the node cannot give what is asked for",
        {
            "containerStatuses": [_has("250m")],
            "conditions": [{**PENDING, "reason": "Infeasible"}],
        },
        0.75,
    ),
    (
        "it is put off",
        {"containerStatuses": [_has("250m")], "conditions": [{**PENDING, "reason": "Deferred"}]},
        1.5,
    ),
    ("a status that says nothing of it", {"containerStatuses": [{"name": "main"}]}, 1.5),
    ("a sidecar", {"initContainerStatuses": [{**_has("2"), "name": "side"}]}, 3.0),
    ("no sidecar", {"initContainerStatuses": [{**_has("2"), "name": "init"}]}, 1.5),
]


@pytest.mark.parametrize(("_", "status", "cores"), RESIZED, ids=[case[0] for case in RESIZED])
def test_a_container_that_is_resized_in_place_counts_as_the_scheduler_counts_it(
    _: str, status: dict[str, Any], cores: float
) -> None:
    inits = [
        {**container("500m"), "name": "side", "restartPolicy": "Always"},
        {**container("100m"), "name": "init"},
    ]
    spec = {"containers": [container("1")], "initContainers": inits}
    assert effective(spec, status)["cpu"][0] == pytest.approx(cores)


#: Pods, and of cpu and memory what init containers need and what is overhead.
FIXED = [
    ({"containers": [container("1")]}, {}),
    (
        {"containers": [container("1")], "initContainers": [container("3"), container("2")]},
        {"cpu": (3.0, None)},
    ),
    (
        {"containers": [container("1")], "overhead": {"cpu": "1500m", "memory": "1Gi"}},
        {"cpu": (None, 1.5), "memory": (None, 2.0**30)},
    ),
    (
        {
            "containers": [container("1")],
            "initContainers": [
                {**container("500m"), "restartPolicy": "Always"},
                container("2"),
                {**container("4"), "restartPolicy": "Always"},
            ],
        },
        {"cpu": (2.5, None)},
    ),
    (
        {
            "containers": [container("1")],
            "initContainers": [container("3")],
            "resources": {"requests": {"cpu": "2"}},
            "overhead": {"cpu": "250m"},
        },
        {"cpu": (None, 0.25)},
    ),
]


@pytest.mark.parametrize(("spec", "expected"), FIXED)
def test_what_init_containers_and_overhead_keep(
    spec: dict[str, Any], expected: dict[str, tuple[float | None, float | None]]
) -> None:
    found = fixed(spec)
    known = {name: one for name, one in found.items() if name in ("cpu", "memory")}
    assert {name: (one.init, one.overhead) for name, one in known.items()} == expected
    # they and the containers' own make the scheduler's request
    for name, one in found.items():
        own = max(one.own_request or 0.0, one.init or 0.0)
        assert effective(spec)[name][0] == own + (one.overhead or 0.0)
