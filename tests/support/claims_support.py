"""``make claims``: the experiments that claims are judged by, and their readings as recorded.

An experiment whose folder is there is not run again; ``demo`` is that of ``make demo``.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path

from tracekit.answer.claims.every import RECORDED, readings
from tracekit.answer.claims.table import TRACE, all_claims
from tracekit.base.assets import asset_dir
from tracekit.base.facts import Followup
from tracekit.commands.shell import run
from tracekit.report.data import opened
from tracekit.report.sentences import command


def experiments() -> dict[str, Followup]:
    """The command of each experiment, but for a query of a store."""
    every = {one.experiment: one.followup for one in all_claims().values()}
    return {name: one for name, one in every.items() if name != TRACE}


def record() -> None:
    """Run what was not run yet, and write the readings."""
    made = experiments()
    for one in made.values():
        if not Path(str(one.arguments["out"])).is_dir() and run(shlex.split(command(one))[1:]):
            raise SystemExit(1)
    with opened(Path("demo/store")) as data:
        read = readings(data.frame, made)
    lines = [f' "{name}": {json.dumps(dataclasses.asdict(one))}' for name, one in read.items()]
    text = ",\n".join(lines)
    (asset_dir("reports") / RECORDED).write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    record()
