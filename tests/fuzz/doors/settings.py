"""Settings files (``tracekit.toml``), found in the folder or given, with other keys and values."""

from __future__ import annotations

from pathlib import Path

from door import Case, Door
from forks import Done
from mutate import Rng, any_of, mutated_bytes, mutated_text

_WHOLE = """\
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

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A settings file with a line, or bytes, changed."""
        lines = _WHOLE.splitlines()
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
            data = mutated_bytes(_WHOLE.encode(), rng)
        given, command = rng.random() < 0.3, any_of(rng, _COMMANDS)
        if b"policies = []" in data:
            command = _COMMANDS[0]  # a replay of every policy there is takes minutes
        (folder / ("mine.toml" if given else "tracekit.toml")).write_bytes(data)
        return Case(arguments=(*(("--config", "mine.toml") if given else ()), *command))

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """A refused command leaves no result."""
        if done.code == 2 and (folder / "myrun").exists():
            return "refused, but a result was written"
        return None


DOOR = Settings()
