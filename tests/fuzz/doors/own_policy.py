"""A policy file of one's own, damaged, or one that does what a policy must not."""

from __future__ import annotations

from pathlib import Path

from door import Case, Door
from forks import Done
from mutate import Rng, any_of, mutated_bytes, mutated_text

_WHOLE = '''\
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

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """The whole policy with a line, its bytes, its deeds or its answer changed."""
        how = int(rng.integers(4))
        if how == 0:
            data = mutated_bytes(_WHOLE.encode(), rng)
        elif how == 1:
            lines = _WHOLE.splitlines()
            at = int(rng.integers(len(lines)))
            lines[at] = mutated_text(lines[at], rng)
            data = "\n".join(lines).encode()
        elif how == 2:
            deed = any_of(rng, _DEEDS)
            head = "        left = "
            # at the head of the file what a function returns is no Python
            data = _WHOLE.replace(head, f"        {deed}\n{head}").encode()
        else:
            answer = any_of(rng, _ANSWERS)
            data = (_WHOLE[: _WHOLE.index("return share")] + f"return {answer}\n").encode()
        (folder / "mine.py").write_bytes(data)
        policy = ("--policy", "./mine.py")
        return Case(
            arguments=("replay", "--workload", "paper000", *policy, "--jobs", "1", "--out", "myrun")
        )

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """A refused policy leaves no result, and the line that says so names the file."""
        if done.code == 2 and (folder / "myrun").exists():
            return "refused, but a result was written"
        if done.code == 2 and "mine" not in done.err:
            return f"the error does not name the policy: {done.err[-300:]}"
        return None


DOOR = OwnPolicy()
