"""The large form of the harness: what ``make fuzz`` runs. Hours on a slow machine; seeded.

Its small form is part of the test suite.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_TESTS = Path(__file__).parents[1]
#: Tests that try a few random cases in CI, and many here.
_RANDOM = (
    "faults/test_store_states.py",
    "faults/test_killed_anew.py",
    "end_to_end/test_run_killed.py",
    "live/test_answers.py",
    "replay/test_chance.py",
)


def main() -> int:
    """All parts, whatever each finds; 1 when one found something."""
    folders = [str(_TESTS / name) for name in ("support", "faults", "fuzz")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders), "TRACEKIT_MANY": "1"}
    parts = (
        [str(_TESTS / "fuzz" / "campaign.py"), *sys.argv[1:]],
        [str(_TESTS / "faults" / "every_call.py")],
        ["-m", "pytest", "-q", "-s", "-n", "0", *(str(_TESTS / name) for name in _RANDOM)],
    )
    codes = [
        subprocess.run([sys.executable, *part], env=environment, check=False).returncode
        for part in parts
    ]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
