"""Choosers of whole cores against a plain form, and the remarks on a replay down to the vCPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from replay_support import Row, workload

from tracekit.binding.choosers import NAMED, bind_on, whole_cores
from tracekit.binding.loop import VcpuReplay
from tracekit.binding.occupancy import InterferenceModel, model_of_fit
from tracekit.binding.vcpu_state import VcpuState, assumed_hosts, room_of
from tracekit.interference.room import make_room
from tracekit.interference.run import FIT_FOLDER
from tracekit.interference.topology import Topology, linux_numbering

MODEL = InterferenceModel(cpu=np.array([0.5]), k1=np.array([0.3]), k2=np.array([0.05]))
HOSTS = {
    "two threads": linux_numbering(16, 2),
    "one thread": linux_numbering(8, 2, 1),
    "four threads": linux_numbering(16, 1, 4),
    "threads side by side": Topology(np.repeat([0, 1], 4), np.arange(8) // 2),
}


def plain(topology: Topology, free: list[int], size: int) -> list[int]:
    """Core by core: whole ones while they fit, then threads of shared ones, then of whole ones."""
    cores: dict[int, list[int]] = {}
    for vcpu in sorted(free):
        cores.setdefault(int(topology.core[vcpu]), []).append(vcpu)
    whole = [c for c, ids in cores.items() if len(ids) == (topology.core == c).sum()]
    taken: list[int] = []
    used = []
    for core in sorted(whole, key=lambda one: cores[one][0]):
        if len(taken) + len(cores[core]) <= size:
            taken += cores[core]
            used.append(core)
    shared = sorted(v for c, ids in cores.items() if c not in whole for v in ids)
    broken = sorted(v for c in whole if c not in used for v in cores[c])
    return sorted(taken + (shared + broken)[: size - len(taken)])


@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("seed", range(12))
def test_whole_cores_are_those_of_the_plain_form(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    topology = HOSTS[name]
    room = make_room(["h"], {"h": topology})
    state = VcpuState(room, MODEL, np.zeros(3, np.int64), np.array([3, 2, 1]))
    for instance, size in enumerate((3, 2)):
        socket = int(rng.integers(len(room.socket_vcpus)))
        places = rng.permutation(state.free_places(socket))[:size]
        if len(places) == size:
            state.bind(instance, socket, np.sort(places))
    for socket in range(len(room.socket_vcpus)):
        free = state.free_places(socket)
        for size in range(1, len(free) + 1):
            vcpus = whole_cores(state, free, size).tolist()
            assert vcpus == plain(topology, free.tolist(), size), (free.tolist(), size)


def test_the_first_socket_with_whole_cores_or_the_emptiest() -> None:
    room = make_room(["h"], {"h": linux_numbering(16, 2)})
    state = VcpuState(room, MODEL, np.zeros(5, np.int64), np.array([1, 1, 1, 1, 4]))
    rng = np.random.default_rng(0)
    # one thread on three of the four cores of the first socket: 0 to 3 and 8 to 11
    for instance in range(3):
        state.bind(instance, 0, np.array([instance]))
    sockets = [
        bind_on(state, 4, size, 0, bind, rng, which)  # type: ignore[arg-type]
        for size, bind, which in (
            (2, "whole_cores", "first"),
            (4, "whole_cores", "first"),
            (4, "lowest_free", "first"),
            (2, "whole_cores", "emptiest"),
            (2, "lowest_free", "emptiest"),
        )
    ]
    assert [(socket, places.tolist()) for socket, places in sockets if places is not None] == [  # type: ignore[misc]
        (0, [3, 11]),
        (1, [4, 5, 12, 13]),
        (0, [3, 8, 9, 10]),
        (1, [4, 12]),
        (1, [4, 5]),
    ]


def test_nobody_shares_a_core_while_whole_ones_are_idle() -> None:
    """The audit's case: a cluster mostly empty, where lowest ids share and whole cores do not."""
    rows: list[Row] = [(0, 9000, 4000, 1)] * 6
    load = workload([(16_000, 1000)] * 2, rows, steps=4)
    model = InterferenceModel(cpu=np.full(3, 0.5), k1=np.full(3, 0.3), k2=np.full(3, 0.05))
    core_cost = {}
    for name in ("least_allocated", "whole_cores", "whole_cores_emptiest"):
        given = np.array([int(one[1:]) for one in load.containers.services])
        chooser = NAMED[name].__class__(bind=NAMED[name].bind, socket=NAMED[name].socket,
                                        anti_affinity=False)  # fmt: skip
        rng = np.random.default_rng(0)
        out = VcpuReplay(load, room_of(load), model, given, chooser, rng).run()
        owners = {(int(n), v): at for at, n in enumerate(out.node) for v in out.vcpus[at]}
        core_cost[name] = sum(
            owners.get((node, (vcpu + 8) % 16), at) != at for (node, vcpu), at in owners.items()
        )
    assert core_cost["least_allocated"] > 0
    assert core_cost["whole_cores"] == core_cost["whole_cores_emptiest"] == 0


COEFFICIENTS = {"service": ["web"], "cpu_mean": [0.5], "k1": [0.1], "k2": [0.2]}


@pytest.mark.parametrize(
    ("verdict", "pooled", "doubted"),
    [("usable", "weak", ""), ("weak", "usable", ""), ("weak", "weak", "weak")],
)
def test_a_fit_is_doubted_where_no_part_of_it_is_usable(
    tmp_path: Path, verdict: str, pooled: str, doubted: str
) -> None:
    reason = "no effect beyond chance"
    frames = {
        "coefficients": pl.DataFrame(COEFFICIENTS),
        "pooled": pl.DataFrame({"k1": [0.1], "k2": [0.2], "verdict": [pooled], "reason": [reason]}),
    }
    about = {"options": {"agg": "mean"}, "mode": "proxy", "verdicts": {verdict: 1}}
    document = {"schema": FIT_FOLDER.schema, "tool_version": "0", **about}
    FIT_FOLDER.write(tmp_path / "fit", document, frames)
    model = model_of_fit(tmp_path / "fit", ["web"])
    assert (model.verdict, model.reason) == (doubted, reason if doubted else "")


@pytest.mark.parametrize(("sockets", "left_out"), [(2, 3), (1, None)])
def test_vcpus_that_are_left_out_are_counted(sockets: int, left_out: int | None) -> None:
    load = workload([(7910, 1000), (16_000, 1000)], [(0, 9000, 1000, 1)])
    fact = assumed_hosts(load, sockets=sockets, threads_per_core=sockets)
    assert fact.value == fact.about["threads"] == sockets
    assert (fact.about["left_out_vcpus"], fact.about["every_vcpus"]) == (left_out, 23)
