"""The large form of the harness: what ``make fuzz`` runs. Hours on a slow machine; seeded.

Its small form is part of the test suite: tests/fuzz, tests/faults.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_TESTS = Path(__file__).parents[1]

#: Histories of a store, and kills of a run and of a store made anew.
_HISTORIES = "60"
_KILLS = "20"


def main() -> int:
    """All parts, whatever each finds; 1 when one found something."""
    folders = [str(_TESTS / name) for name in ("support", "faults", "fuzz")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(folders),
        "TRACEKIT_STORE_HISTORIES": _HISTORIES,
        "TRACEKIT_KILLS": _KILLS,
        "TRACEKIT_KILLS_SOURCE": "synth:tiny",
    }
    parts = (
        [str(_TESTS / "fuzz" / "campaign.py"), *sys.argv[1:]],
        [str(_TESTS / "faults" / "every_call.py")],
        ["-m", "pytest", "-q", "-n", "0", str(_TESTS / "faults" / "test_store_states.py")],
        ["-m", "pytest", "-q", "-s", "-n", "0", str(_TESTS / "faults" / "test_killed_anew.py")],
        ["-m", "pytest", "-q", "-s", "-n", "0", str(_TESTS / "end_to_end" / "test_run_killed.py")],
    )
    codes = [
        subprocess.run([sys.executable, *part], env=environment, check=False).returncode
        for part in parts
    ]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
