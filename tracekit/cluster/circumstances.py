"""Assumptions for every kind of workload: lost nodes, waiting of gangs, ceiling and prices."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from tracekit.base import parameters
from tracekit.base.errors import TracekitError
from tracekit.cluster.changed.prices import check_currency, read_prices
from tracekit.cluster.declared import CEILING_PREFIX, Ceiling
from tracekit.cluster.losses import span_ms, with_losses
from tracekit.cluster.workload import Workload

#: Their names, with what they mean.
NAMES = {
    "prices": "Prices of nodes by instance type: TYPE=PRICE or FILE.csv, commas between.",
    "currency": "What follows an amount of money.",
    "lost": "Nodes lost at a time: WHAT@TIME, commas between.",
    "preemption": "none, or lower: who fits nowhere evicts containers of lower priority.",
    "gang_wait": "How long a gang holds nodes while at most a tenth of its members finds none.",
    "gang_backoff": "How long a gang that could not begin is not tried again.",
    "ceiling_cpu_fraction": "A node is full above this share of its CPU, 99 % of the time.",
    "ceiling_memory_fraction": "A node is full above this share of its memory, at any time.",
}


#: Settings of earlier names, as they are called now.
_RENAMED = {"arrival=trace": "arrivals=recorded", "arrival=spread": "arrivals=spread"}


def taken_apart(assume: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The settings of these assumptions by name, and all other settings."""
    own: dict[str, str] = {}
    others = []
    for setting in (_RENAMED.get(one.replace(" ", ""), one) for one in assume):
        name, equals, value = setting.partition("=")
        if equals and name.strip() in NAMES:
            own[name.strip()] = value.strip()
        else:
            others.append(setting)
    return own, others


def under(load: Workload, own: Mapping[str, str], rng: np.random.Generator) -> Workload:
    """The workload with these assumptions.

    Raises
    ------
    TracekitError
        For an impossible value, and for waiting times of gangs without a gang.
    """
    if "lost" in own:
        load = with_losses(load, own["lost"], rng)
    if "preemption" in own:
        load = _preempting(load, own["preemption"])
    load = _with_ceiling(load, own)
    if "prices" in own:
        load = read_prices(own["prices"]).applied(load)
    if "currency" in own:
        currency = check_currency(own["currency"])
        told = {**load.provenance.assumptions, "currency": currency}
        load = dataclasses.replace(
            load,
            nodes=dataclasses.replace(load.nodes, currency=currency),
            provenance=dataclasses.replace(load.provenance, assumptions=told),
        )
    spans = {name: value for name, value in own.items() if name.startswith("gang_")}
    if not spans:
        return load
    if load.rules.gang is None or not (load.rules.gang >= 0).any():
        raise TracekitError(
            f"{next(iter(spans))} is about gangs, and workload '{load.name}' has none",
            hint="leave it out, or admit a service's containers together with --gang",
        )
    whole = int(load.use.times_ms[-1] - load.use.times_ms[0]) + load.use.step_ms
    made = {
        f"{name}_ms": span_ms(value, whole=whole, what=f"{name}={value}")
        for name, value in spans.items()
    }
    told = {**load.provenance.assumptions, **made}
    return dataclasses.replace(
        load,
        rules=dataclasses.replace(
            load.rules,
            gang_wait_ms=made.get("gang_wait_ms", load.rules.gang_wait_ms),
            gang_backoff_ms=made.get("gang_backoff_ms", load.rules.gang_backoff_ms),
        ),
        provenance=dataclasses.replace(load.provenance, assumptions=told),
    )


def _with_ceiling(load: Workload, own: Mapping[str, str]) -> Workload:
    """The workload with the parts of the ceiling that are set."""
    names = {f"{CEILING_PREFIX}{name}": name for name in parameters.names(Ceiling)}
    given = {name: own[full] for full, name in names.items() if full in own}
    if not given:
        return load
    try:
        ceiling: Ceiling = parameters.build(Ceiling, "the ceiling", given)
    except parameters.ParameterError as error:
        name = f"{CEILING_PREFIX}{error.field}"
        raise TracekitError(
            f"{name} is {own[name]}, expected a share from 0.01 to 1", hint=f"--assume {name}=0.8"
        ) from error
    told = {f"{CEILING_PREFIX}{name}": value for name, value in dataclasses.asdict(ceiling).items()}
    return dataclasses.replace(
        load,
        rules=dataclasses.replace(load.rules, ceiling=ceiling),
        provenance=dataclasses.replace(
            load.provenance, assumptions={**load.provenance.assumptions, **told}
        ),
    )


def _preempting(load: Workload, value: str) -> Workload:
    if value not in ("none", "lower"):
        raise TracekitError(f"preemption is '{value}', expected none or lower")
    if value == "none":
        return load
    if load.rules.priority is None or not np.ptp(load.rules.priority):
        raise TracekitError(
            f"preemption is about priorities, and workload '{load.name}' has one for all",
            hint="leave it out; the column priority of the table container tells priorities",
        )
    if load.rules.constraints is not None and load.rules.constraints.cells is not None:
        raise TracekitError(
            f"preemption knows no NUMA cells, and workload '{load.name}' has them",
            hint="--assume cells=none leaves them out",
        )
    told = {**load.provenance.assumptions, "preemption": value}
    return dataclasses.replace(
        load,
        rules=dataclasses.replace(load.rules, preemption=True),
        provenance=dataclasses.replace(load.provenance, assumptions=told),
    )
