"""What an audit of the first version found wrong, and no other test holds, stays right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cluster_support import OPENB, written
from replay_support import changed, workload

from tracekit.commands.shell import run
from tracekit.policy.entrant import Entrants
from tracekit.replay.runs.run import choose_policies, replay

#: What a replay says of each resource that a workload has.
OF_EACH = (
    "mean_fraction", "max_fraction", "p99_fraction", "spread_mean_fraction", "std_mean_fraction",
    "allocated_share", "overload_node_steps", "overload_mean_fraction", "stranded_share",
)  # fmt: skip


def test_one_gang_of_all_pods_is_not_made_of_a_workload_without_services(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All 8,152 pods of openb were one gang, and none of them was placed."""
    given = f"openb:{written(tmp_path, OPENB)}"
    out = tmp_path / "out"
    assert run(["replay", "--workload", given, "--gang", "--out", str(out)]) == 2
    error_text = capsys.readouterr().err
    assert "'openb'" in error_text
    assert not out.exists()


def test_every_resource_is_measured_and_a_network_policy_judged_on_the_network() -> None:
    """Only CPU and memory were, so that bnp could be seen to get worse and nothing else."""
    rng = np.random.default_rng(3)
    load = workload([(1000, 1000)] * 4, [(at * 100, 9000, 10, 10, 0) for at in range(24)], steps=5)
    wanted = np.c_[load.containers.request, rng.integers(1, 9, 24), rng.permutation(24) * 20 + 1]
    load = changed(
        load,
        nodes={"capacity": np.array([[1000, 1000, 400, 4000]] * 4)},
        containers={"request": wanted, "nonzero_request": wanted, "limit": wanted},
        resources=("cpu_milli", "memory_bytes", "disk_bytes", "net_kbit"),
    )
    policies = choose_policies(Entrants.of(["bnp", "least_allocated", "first_fit"]), load, ())
    replayed = replay(load, policies, seed=0).summary
    names = [f"{one}_{what}" for one in ("cpu", "memory", "disk", "network") for what in OF_EACH]
    assert set(names) <= set(replayed.columns)
    spread = dict(replayed.select("policy", "network_spread_mean_fraction").iter_rows())
    assert 0 < spread["bnp"] < spread["least_allocated"] < spread["first_fit"]
