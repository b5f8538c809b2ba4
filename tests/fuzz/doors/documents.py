"""Files that a user writes: YAML of Kubernetes, settings, a policy, recorded cases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from door import Case, Door
from forks import Done
from mutate import Rng, any_of, json_bytes, mutated_bytes, mutated_json, mutated_text

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
    results = ("myrun",)

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


DOCUMENTS = Documents()


_SETTINGS_FILE = """\
policies = ["first_fit", "least_allocated[resources=cpu:1+memory:2]"]
thresholds = ["imbalance_mean > 1.05 * base"]

[assume]
nodes = 31

[replay]
repeat = 1
seed = 7
jobs = 1
rebalance = "low_node_utilization"

[list]
json = true
"""
#: Values that are TOML, if not what an option takes.
_VALUES = (
    "1", "-1", "0", "1.5", "inf", "nan", "true", '""', '"x"', '"1"', "[]", "[1]", '["first_fit"]',
    "[[]]", "{}", "{ a = 1 }", "{ nodes = 31 }", "2024-01-01", "07:30:00", "0x10", "1_000",
    "9223372036854775807", "9999999999999999999999999999999999999999", '"./evil.py"', '"\\u001b[31m"', '"[first_fit]"',
)  # fmt: skip
_COMMANDS = (
    ("list", "policies"),
    ("replay", "--workload", "paper000", "--out", "myrun"),
    ("list", "queries"),
)


class Settings(Door):
    """One command line in a folder with a damaged settings file."""

    share = 0.02
    results = ("myrun",)

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A settings file with a line, or bytes, changed."""
        lines = _SETTINGS_FILE.splitlines()
        how = int(rng.integers(5))
        if how < 4:
            at = int(rng.integers(len(lines)))
            key, is_set, _ = lines[at].partition(" = ")
            if is_set and how < 3:
                lines[at] = f"{key} = {any_of(rng, _VALUES)}"
            else:
                lines[at] = mutated_text(lines[at], rng)
            data = "\n".join(lines).encode()
        else:
            data = mutated_bytes(_SETTINGS_FILE.encode(), rng)
        given, command = rng.random() < 0.3, any_of(rng, _COMMANDS)
        if b"policies = []" in data:
            command = _COMMANDS[0]  # a replay of every policy there is takes minutes
        (folder / ("mine.toml" if given else "tracekit.toml")).write_bytes(data)
        return Case(arguments=(*(("--config", "mine.toml") if given else ()), *command))


SETTINGS = Settings()


_POLICY_FILE = '''\
"""The emptiest node, memory counted more."""
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.parameters import About
from tracekit.policy.placement import PlacementPolicy


@dataclass(frozen=True, kw_only=True)
class Mine(PlacementPolicy):
    """Prefer the node with the most left, memory counted more."""

    reads: ClassVar = frozenset({"requests"})
    source: ClassVar = "our own idea"
    limit_s: ClassVar = 2.0

    memory_weight: Annotated[float, About("Weight of memory beside cpu.", minimum=0)] = 2.0

    def score(self, snapshot, container, nodes):
        left = snapshot.allocatable[nodes] - snapshot.requested[nodes] - container.request
        share = left / np.maximum(snapshot.allocatable[nodes], 1)
        return share[:, 0] + self.memory_weight * share[:, 1]
'''
#: Done at the head of ``score``, or while the file is read.
_DEEDS = (
    "raise SystemExit(0)", "raise KeyboardInterrupt", "raise GeneratorExit", "import os; os._exit(0)",
    "import sys; sys.exit('gone')", "raise ValueError('\\x1b[31m')", "raise BaseException", "1 / 0",
    "import sys; sys.stdout = None", "import sys; sys.stderr.close()", "import os; os.close(1)",
    "import os; os.abort()", "import os; os.execv('/bin/true', ['true'])", "while True: pass",
    "def f(): f()\n        f()", "import warnings; warnings.warn('a warning')", "print('noise')",
    "import signal; signal.alarm(1)", "import signal; signal.setitimer(signal.ITIMER_REAL, 0)",
    "import os; os.chdir('/')", "import os; os.remove('mine.py')", "return", "return None",
)  # fmt: skip
#: What is given in the place of scores.
_ANSWERS = (
    "np.full(len(nodes), np.nan)", "np.full(len(nodes), np.inf)", "np.zeros(len(nodes) + 1)", "0.0",
    "np.zeros((len(nodes), 2))", "['a'] * len(nodes)", "list(range(len(nodes)))", "np.array([])",
    "np.random.default_rng().random(len(nodes))", "nodes + 1j", "np.arange(len(nodes)) * 1e308 * 10",
    "snapshot.requested.__setitem__((0, 0), 1)", "container", "np.zeros(len(nodes), dtype=object)",
)  # fmt: skip


class OwnPolicy(Door):
    """One replay with a damaged policy at a time."""

    share = 0.02
    results = ("myrun",)

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """The whole policy with a line, its bytes, its deeds or its answer changed."""
        how = int(rng.integers(4))
        if how == 0:
            data = mutated_bytes(_POLICY_FILE.encode(), rng)
        elif how == 1:
            lines = _POLICY_FILE.splitlines()
            at = int(rng.integers(len(lines)))
            lines[at] = mutated_text(lines[at], rng)
            data = "\n".join(lines).encode()
        elif how == 2:
            deed = any_of(rng, _DEEDS)
            head = "        left = "
            # at the head of the file what a function returns is no Python
            data = _POLICY_FILE.replace(head, f"        {deed}\n{head}").encode()
        else:
            answer = any_of(rng, _ANSWERS)
            data = (
                _POLICY_FILE[: _POLICY_FILE.index("return share")] + f"return {answer}\n"
            ).encode()
        (folder / "mine.py").write_bytes(data)
        policy = ("--policy", "./mine.py")
        return Case(
            arguments=("replay", "--workload", "paper000", *policy, "--jobs", "1", "--out", "myrun")
        )

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """A refused policy leaves no result, and the line that says so names the file."""
        if done.code == 2 and "mine" not in done.err:
            return f"the error does not name the policy: {done.err[-300:]}"
        return super().verdict(case, done, folder)


OWN_POLICY = OwnPolicy()


_GOLDEN = Path(__file__).parents[2] / "golden"


class Recorded(Door):
    """One document of one or two cases at a time."""

    share = 0.12

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """The documents of recorded cases that the tests have."""
        for path in sorted(_GOLDEN.glob("*.json")):
            document = json.loads(path.read_text())
            if isinstance(document, dict) and "policy" in document and document.get("cases"):
                (folder / path.name).write_text(path.read_text())
        return ()

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A document with a few of its cases, damaged."""
        document = json.loads(any_of(rng, sorted(start.glob("*.json"))).read_text())
        cases = document["cases"]
        document["cases"] = [any_of(rng, cases) for _ in range(int(rng.integers(1, 3)))]
        inside = rng.random() < 0.8
        if inside:
            document["cases"] = mutated_json(document["cases"], rng)
        else:
            document = mutated_json(document, rng)
        (folder / "case.json").write_bytes(json_bytes(document, rng))
        check = ("--check",) if rng.random() < 0.5 else ()
        return Case(arguments=("explain", "case.json", *check))


RECORDED = Recorded()
