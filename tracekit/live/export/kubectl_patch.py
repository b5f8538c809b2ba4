"""Recommended requests as patches, a line of kubectl each."""

import json
from typing import Any

from tracekit.live.export._format import Format, Written
from tracekit.live.export._left import Left
from tracekit.live.export._requests import TEMPLATES, Sized, sized
from tracekit.live.export._text import command, quantities, script


def _write(left: Left) -> Written:
    found, facts = sized(left)
    return Written(files={"": script([_line(one) for one in found])}, facts=tuple(facts))


def _line(one: Sized) -> str:
    containers = [
        {"name": name, "resources": {"requests": quantities(amounts)}}
        for name, amounts in one.containers.items()
    ]
    patch: dict[str, Any] = {"containers": containers}
    for key in reversed(TEMPLATES[one.kind]):
        patch = {key: patch}
    what = f"{one.kind.lower()}/{one.name}"
    return command(
        *("kubectl", "patch", what, "--namespace", one.namespace, "--type", "strategic"),
        *("--patch", json.dumps(patch, separators=(",", ":"))),
    )


FORMAT = Format(
    name="kubectl-patch",
    title="recommended requests as patches to read, a line of kubectl each; needs --objects",
    write=_write,
)
