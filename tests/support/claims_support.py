"""``make claims``: the experiments that claims are judged by, and their readings as recorded.

An experiment whose folder is there is not run again; ``demo`` is that of ``make demo``.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import asdict
from pathlib import Path

from tracekit._version import VERSION
from tracekit.answer.claims.every import RECORDED, readings, recorded
from tracekit.answer.claims.table import TRACE, all_claims
from tracekit.base.facts import Followup
from tracekit.base.folders import asset_dir
from tracekit.commands.shell import run
from tracekit.report.data import opened
from tracekit.report.sentences import command


def experiments() -> dict[str, Followup]:
    """The command of each experiment, but for a query of a store."""
    every = {one.experiment: one.followup for one in all_claims().values()}
    return {name: one for name, one in every.items() if name != TRACE}


def record() -> None:
    """Run what was not run yet, and write the readings that are not recorded so already."""
    expected, made = dict(recorded()), experiments()
    for one in made.values():
        if not Path(str(one.arguments["out"])).is_dir() and run(shlex.split(command(one))[1:]):
            raise SystemExit(1)
    with opened(Path("demo/store")) as data:
        for name, one in made.items():
            read = {claim: asdict(match) for claim, match in readings(data.frame, (name,)).items()}
            own = {"command": command(one), "readings": read}
            if not own.items() <= dict(expected.get(name, {})).items():
                expected[name] = {"version": VERSION, "commit": _commit(), **own}
    text = json.dumps(expected, indent=1)
    (asset_dir("reports") / RECORDED).write_text(f"{text}\n", encoding="utf-8")


def _commit() -> str:
    """The commit of this tree."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.check_output(words, cwd=Path(__file__).parent, text=True).strip()


if __name__ == "__main__":
    record()
