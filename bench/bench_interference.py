"""What the fit and the placement down to the vCPU take, and that the fast ways decide alike.

``python -m bench.bench_interference`` prints the table; ``--quick`` takes small sizes, to see
that it runs. Every row names what it is compared with in the same run, because others may use the
machine: times are CPU seconds of the thread.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/support"))

from plain_vcpus import plain_pressure
from vcpu_support import plain_best

from tracekit.binding.occupancy import InterferenceModel
from tracekit.binding.vcpu_state import VcpuState
from tracekit.interference.options import Options
from tracekit.interference.room import Bound, VcpuPlaces, make_room, pressure
from tracekit.interference.run import fit_rows
from tracekit.interference.topology import linux_numbering

TOPOLOGY = linux_numbering(104, 2)


@dataclass(frozen=True, kw_only=True)
class Size:
    """A cluster of hosts with two sockets of 52 vCPUs; containers of 2 to 4 vCPUs."""

    hosts: int = 3000
    services: int = 1300
    containers: int = 96_000
    checked: int = 20


FULL, QUICK = Size(), Size(hosts=40, services=30, containers=900, checked=5)


def timed(call: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    began = time.thread_time()
    call()
    return time.thread_time() - began


def rows_of(
    size: Size, rng: np.random.Generator
) -> tuple[pl.DataFrame, VcpuPlaces, Bound, np.ndarray]:
    """Containers scattered over the hosts, with planted coefficients."""
    names = [f"h{at:05}" for at in range(size.hosts)]
    room = make_room(names, dict.fromkeys(names, TOPOLOGY))
    each = -(-size.containers // size.hosts)
    owner, place = [], []
    host: list[int] = []
    for at in range(size.hosts):
        free = [rng.permutation(TOPOLOGY.vcpus_of(socket)) for socket in (0, 1)]
        for number in range(min(each, size.containers - len(host))):
            places = free[number % 2][3 * (number // 2) : 3 * (number // 2) + 3]
            owner.append(np.full(len(places), len(host)))
            place.append(room.offset[at] + places)
            host.append(at)
    bound = Bound(np.concatenate(owner), np.concatenate(place), len(host))
    service = rng.integers(0, size.services, len(host))
    level = rng.uniform(0.1, 0.6, size.services)
    core, socket = pressure(room, bound, level[service])
    cpu = level[service] + 0.25 * core + 0.08 * socket + rng.normal(0, 0.01, len(host))
    frame = pl.DataFrame(
        {
            "service": [f"s{at:05}" for at in service.tolist()],
            "instance": [f"i{at:06}" for at in range(len(host))],
            "host": [names[at] for at in host],
            "socket": room.socket[bound.place[np.searchsorted(bound.owner, np.arange(len(host)))]],
            "vcpus": np.full(len(host), 3.0),
            "window_ms": np.zeros(len(host), dtype=np.int64),
            "cpu": cpu,
            "cpu_sc": core,
            "cpu_ss": socket,
            "load": pl.Series([None] * len(host), dtype=pl.Float64),
        }
    )
    return frame, room, bound, level[service]


def bench_fit(size: Size, rng: np.random.Generator) -> None:
    """The fit, and the pressure of the whole cluster against the plain definition."""
    frame, room, bound, cpu = rows_of(size, rng)
    whole = timed(lambda: fit_rows(frame, "bound", Options()))
    print(f"fit of {size.services:,} services x {frame.height:,} containers: {whole:.2f} s")
    one_pass = timed(lambda: pressure(room, bound, cpu)) / bound.instances
    host = np.flatnonzero(frame["host"].to_numpy() == room.hosts[0])
    placed = {
        str(at): (bound.place[bound.owner == at] - room.offset[0]).tolist() for at in host.tolist()
    }
    known = {name: float(cpu[int(name)]) for name in placed}
    plain = timed(lambda: [plain_pressure(TOPOLOGY, placed, known, name) for name in placed])
    each = plain / len(placed)
    print(
        f"pressure: {1e6 * one_pass:.2f} us a container in one pass,"
        f" {1e6 * each:.0f} us from the definition: {each / one_pass:,.0f} x"
    )


def bench_placement(size: Size, rng: np.random.Generator, *, delta: bool) -> None:
    """Decisions per second while the cluster fills, against plain enumeration of all hosts."""
    names = [f"h{at:05}" for at in range(size.hosts)]
    room = make_room(names, dict.fromkeys(names, TOPOLOGY))
    model = InterferenceModel(
        cpu=rng.uniform(0.1, 0.9, size.services),
        k1=rng.uniform(0.15, 0.4, size.services),
        k2=rng.uniform(0.03, 0.12, size.services),
    )
    count = min(size.containers, 20 * size.hosts)
    service = rng.integers(0, size.services, count)
    state = VcpuState(room, model, service, np.full(count, 4))
    state.least_interference(0, delta=delta)
    checks = set(rng.choice(count, size.checked, replace=False).tolist())
    fast, plain, same = 0.0, 0.0, 0
    for instance in range(count):
        began = time.thread_time()
        found = state.least_interference(instance, delta=delta)
        fast += time.thread_time() - began
        if found is None:
            continue
        if instance in checks:
            began = time.thread_time()
            score, host = plain_best(state, instance, delta=delta, hosts=20)
            plain += (time.thread_time() - began) * size.hosts / 20
            chosen = int(room.socket_host[found[0]])
            own, _ = plain_best(state, instance, delta=delta, only=chosen)
            same += own <= score + 1e-9
            del host
        began = time.thread_time()
        state.bind(instance, *found)
        fast += time.thread_time() - began
    decided = count / fast
    print(
        f"placement ({'delta' if delta else 'score'}) of {count:,} containers on {size.hosts:,}"
        f" hosts: {decided:,.0f} decisions/s; plain enumeration {size.checked / plain:.3f}/s,"
        f" {decided * plain / size.checked:,.0f} x; {same} of {size.checked} checked were no worse"
        " than the best of 20 hosts"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    size = QUICK if parser.parse_args().quick else FULL
    rng = np.random.default_rng(0)
    bench_fit(size, rng)
    for delta in (False, True):
        bench_placement(size, rng, delta=delta)


if __name__ == "__main__":
    main()
