"""Recorded scheduling cases (``tracekit explain CASE.json``) with other values, keys and types."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from door import Case, Door
from mutate import Rng, any_of, json_bytes, mutated_json

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


DOOR = Recorded()
