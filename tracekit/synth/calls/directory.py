"""Possible calls: every service has a few fixed targets for each type of call."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.synth.seeds import Seeds, hashes

RPC_TYPES = ("rpc", "http", "mc", "db", "mq", "userDefined")
#: Targets of a service per type; a call of type userDefined stays in its service.
TARGETS = {"rpc": 6, "http": 2, "mc": 2, "db": 2, "mq": 1}
#: Services of the call graph that are in no usage table, per service that is: the usage tables
#: cover two clusters out of more than ten.
OUTSIDE_SERVICES = 2
MIDDLEWARE_SHARE = {"mc": 0.3, "db": 0.4, "mq": 0.2}
INTERFACES = 4
POPULARITY = 0.8


@dataclass(frozen=True, kw_only=True)
class Directory:
    """The callable services.

    Parameters
    ----------
    services : Series of String
        Ids: first those of the usage tables, then others that call, then caches, databases
        and queues.
    callers : int
        How many of ``services``, from the first, call others.
    targets : dict of str to int64, shape (callers, targets)
        For each type of call the services that a caller calls.
    interfaces : Series of String
        ``INTERFACES`` ids for each service, one service after another.
    entry : float64, shape (callers,)
        Share of traces that enter at each caller.
    """

    services: pl.Series
    callers: int
    targets: dict[str, IntArray]
    interfaces: pl.Series
    entry: FloatArray


def make_directory(seeds: Seeds, inside: pl.Series) -> Directory:
    """Draw the services around those of the usage tables, and everybody's targets."""
    rng = seeds.stream("call directory")
    callers = len(inside) * (1 + OUTSIDE_SERVICES)
    kinds = {kind: max(3, round(share * callers)) for kind, share in MIDDLEWARE_SHARE.items()}
    outside = callers - len(inside) + sum(kinds.values())
    services = pl.concat([inside, hashes(seeds.stream("call service ids"), outside)])
    popularity = _zipf(rng.permutation(callers))
    targets = {
        kind: _draw(rng, callers, TARGETS[kind], np.arange(callers), popularity)
        for kind in ("rpc", "http")
    }
    first = callers
    for kind, count in kinds.items():
        members = np.arange(first, first + count)
        targets[kind] = _draw(rng, callers, TARGETS[kind], members, _zipf(np.arange(count)))
        first += count
    interfaces = hashes(seeds.stream("interface ids"), INTERFACES * len(services))
    return Directory(
        services=services, callers=callers, targets=targets, interfaces=interfaces, entry=popularity
    )


def _zipf(rank: IntArray) -> FloatArray:
    weight = (1.0 + rank) ** -POPULARITY
    return np.asarray(weight / weight.sum())


def _draw(
    rng: np.random.Generator,
    callers: int,
    count: int,
    among: IntArray,
    weight: FloatArray,
) -> IntArray:
    return np.asarray(rng.choice(among, size=(callers, count), p=weight))
