"""YAML of Kubernetes as policies: configurations of the scheduler and of the descheduler."""

from __future__ import annotations

from pathlib import Path

from door import Case, Door
from forks import Done
from mutate import Rng, any_of, mutated_bytes, mutated_text

_SCHEDULER = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: packing
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: RequestedToCapacityRatio
            resources:
              - name: cpu
                weight: 2
              - name: memory
                weight: 1
            requestedToCapacityRatio:
              shape:
                - {utilization: 0, score: 0}
                - {utilization: 100, score: 10}
    plugins:
      score:
        disabled:
          - name: NodeResourcesBalancedAllocation
        enabled:
          - name: NodeResourcesFit
            weight: 5
"""
_DESCHEDULER = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
maxNoOfPodsToEvictPerNode: 4
profiles:
  - name: spread
    pluginConfig:
      - name: LowNodeUtilization
        args:
          thresholds: {cpu: 20, memory: 20}
          targetThresholds: {cpu: 50, memory: 50}
    plugins:
      balance:
        enabled: [LowNodeUtilization]
"""
#: What stands in a YAML document that its author did not think of.
_LINES = (
    "a: &a [*a]", "  <<: {kind: x}", "? [a, b]\n: c", "!!python/object:os.system x", "---", "...",
    "  - ", "\t- x", "kind: kind", "weight: .inf", "cpu: .nan", "cpu: 1" + "0" * 400, "x: 0o7777",
    "- " * 200, "{" * 300, "'", '"', "# x", "%YAML 9.9", "x: 2024-99-99", "x: 1:2:3:4",
)  # fmt: skip
_REPLAY = ("replay", "--workload", "paper000", "--out", "myrun", "--repeat", "1", "--policy")


class Documents(Door):
    """One replay under a damaged document at a time."""

    share = 0.03

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A document with a line, or bytes, changed."""
        rebalances = rng.random() < 0.4
        whole = _DESCHEDULER if rebalances else _SCHEDULER
        lines = whole.splitlines()
        at, how = int(rng.integers(len(lines))), int(rng.integers(5))
        if how == 0:
            del lines[at]
        elif how == 1:
            lines.insert(at, str(any_of(rng, _LINES)))
        elif how == 2:
            lines[at] = mutated_text(lines[at], rng)
        elif how == 3:
            key = lines[at].partition(":")[0]
            lines[at] = f"{key}: {any_of(rng, _LINES)}"
        data = "\n".join(lines).encode()
        (folder / "it.yaml").write_bytes(mutated_bytes(data, rng) if how == 4 else data)
        more = ("first_fit", "--rebalance", "it.yaml") if rebalances else ("it.yaml",)
        return Case(arguments=(*_REPLAY, *more))

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """A refused command leaves no result."""
        if done.code == 2 and (folder / "myrun").exists():
            return "refused, but a result was written"
        return None


DOOR = Documents()
