"""JSON schemas of what ``--json`` prints and of the documents in folders, made from real ones.

``python tests/support/schema_support.py`` writes docs/reference/schemas anew.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docs_support import DOCS
from genson import SchemaBuilder
from kubernetes_support import listed, node, pod, written
from plain_requests import made_cluster
from tests_support import OWN

from tracekit.commands.shell import run

FOLDER = DOCS / "reference" / "schemas"
#: Keys whose value is a mapping by names that come from the data or from what was asked.
NAMED = frozenset({
    "assume", "assumptions", "barred_by", "columns", "counts", "defects", "dimensions",
    "checksums", "facts", "missing", "models", "movable", "parameters", "params", "quantities",
    "results", "rows", "settings", "tables", "values", "options", "request", "in_the_way",
    "most_free", "closed", "arguments",
})  # fmt: skip
#: What each study calls its own; any value of JSON.
FREE = frozenset({"about"})
#: Documents of what needs a network or hours; they are described in docs/sources.
NOT_HERE = frozenset(
    f"tracekit/{name}/1"
    for name in ("fetch", "fetch_kubernetes", "fetch_prometheus", "fetched", "prometheus",
                 "sizing-model", "run")
)  # fmt: skip

_NULL = {"type": "null"}
_BENCH = ["--sets", "2", "--containers", "40", "--batches", "1"]
#: Calls whose documents are taken, in an order in which each finds what it needs.
CALLS: tuple[tuple[str, ...], ...] = (
    ("synth", "traces", "--preset", "tiny"),
    ("ingest", "traces", "store"),
    ("info", "store"),
    ("check", "store"),
    ("check", "store", "--verify"),
    ("estimate", "store"),
    ("analyze", "store", "--out", "analysis"),
    ("query", "store", "usage/zone_summary"),
    # every kind of value that a cell may have
    ("query", "store", "SELECT NULL AS a, true AS b, [1, 2] AS c, ['x'] AS d, 1.5 AS e, 'x' AS f"),
    ("list",),
    ("list", "policies"),
    ("list", "policies", "best_fit"),
    ("callgraph", "store", "--out", "calls"),
    ("callgraph", "store", "--export", "exported"),
    ("fit", "store", "--binding", "traces/truth/monitoring.csv", "--topology",
     "traces/truth/topology.csv", "--out", "fit"),
    ("bind", "store", "--fit", "fit", "--policy", "lowest_free", "--out", "bound"),
    ("replay", "store", "--policy", "first_fit", "--policy", "./mine.py", "--repeat", "1",
     "--out", "once"),
    ("replay", "store", "--policy", "first_fit", "--policy", "worst_fit", "--repeat", "6",
     "--out", "run"),
    ("compare", "once", "run", "--fail-if", "pending > 100", "--out", "comparison"),
    # orders on both sides, and a limit that speaks of two measures of the base
    ("compare", "run", "run", "--fail-if", "worst(pending) > base + 9", "--fail-if",
     "pending > base.moves + base.nodes_used_mean + 9", "--out", "comparison"),
    # one change that changes the workload, and one that does not
    ("sensitivity", "store", "--policy", "first_fit", "--policy", "./mine.py", "--change",
     "background=none", "--repeat", "1"),
    ("sensitivity", "store", "--policy", "first_fit", "--policy", "worst_fit", "--change",
     "background=none", "--change", "node_cpu_cores=52"),
    # one policy with an answer and no bound, and one without an answer
    ("nodes", "store", "--policy", "best_fit", "--policy", "random", "--limit",
     "pending_container_steps <= 9", "--limit", "random: cpu_max_fraction <= 0", "--limit",
     "best_fit: cpu_max_fraction <= 2", "--limit", "memory_max_fraction <= 2", "--repeat", "1"),
    ("ingest", "cluster.json", "budgeted"),
    ("nodes", "budgeted", "--policy", "best_fit", "--policy", "./mine.py", "--repeat", "1"),
    ("requests", "store", "--by", "calls", "--policy", "percentile_request", "--out", "sized"),
    # judged long enough for an interval, and not
    ("ingest", "used", "usedstore"),
    ("requests", "usedstore", "--out", "requested"),
    ("requests", "usedstore", "--learn", "0.95", "--out", "requested"),
    ("explain", "store", "--policy", "best_fit", "--container", "?"),
    ("report", "run", "--out", "report.html"),
    ("placement-bench", "--policy", "cwt", "--policy", "bra", *_BENCH),
    ("optimize-bench", "--search", "tbesk", "--function", "sphere", "--runs", "2",
     "--iterations", "3"),
    ("extender-bench", "--orders", "2", "--decisions", "2"),
)  # fmt: skip


def documents(folder: Path) -> dict[str, list[Any]]:
    """Documents by the schema that they name: printed ones, and those of the folders written."""
    results: dict[str, list[Any]] = {}
    with contextlib.chdir(folder):
        written(Path("cluster.json"), listed(*_budgeted()))
        made_cluster(Path("used"))
        Path("mine.py").write_text(OWN, encoding="utf-8")
        for call in CALLS:
            for document in _printed(call):
                results.setdefault(document["schema"], []).append(document)
        for path in sorted(folder.rglob("*.json")):
            document = json.loads(path.read_bytes())
            if isinstance(document, dict):
                name = document.get(
                    "schema", "tracekit/store/1" if "format_version" in document else ""
                )
                if name:
                    results.setdefault(name, []).append(document)
    return results


def _budgeted() -> Iterator[dict[str, Any]]:
    """A cluster of which no drain empties two nodes, for a budget wants both of its pods."""
    yield {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
    }
    for at in range(3):
        yield node(f"n{at}")
        yield pod(f"web-{at}", meta={"labels": {"app": "web" if at else "job"}}, nodeName=f"n{at}")


def _printed(call: tuple[str, ...]) -> Iterator[Any]:
    if "?" in call:
        call = tuple(_container() if word == "?" else word for word in call)
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out):
        code = run([*call, "--json"])
    if code:
        raise RuntimeError(f"{call} ended with {code}")
    text = raw.getvalue().decode()
    document = json.loads(text) if text.strip() else None
    if isinstance(document, dict) and "schema" in document:
        yield document


def _container() -> str:
    import tracekit  # noqa: PLC0415 - a store is there only now

    return str(tracekit.query("store", "SELECT container FROM container_usage LIMIT 1").item())


def schema_of(name: str, result: list[Any]) -> dict[str, Any]:
    """The schema of some documents: types, and what stands in each of them."""
    builder = SchemaBuilder()
    for document in result:
        builder.add_object(document)
    made = _plain(builder.to_schema(), "")
    made["properties"]["schema"] = {"const": name}
    title = name.removeprefix("tracekit/").rpartition("/")[0]
    required = sorted(set.intersection(*(set(one) for one in result)))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{name}.json",
        "title": f"tracekit {title}",
        "type": "object",
        "required": required,
        "properties": dict(sorted(made["properties"].items())),
    }


def _plain(schema: Mapping[str, Any], key: str) -> dict[str, Any]:
    """What a few documents tell for sure: no lists of keys, and any number where there is one."""
    if "anyOf" in schema:
        # null beside something else is null, not anything
        several = [one if one == _NULL else _plain(one, key) for one in schema["anyOf"]]
        return {"anyOf": [one for at, one in enumerate(several) if one not in several[:at]]}
    kind = schema.get("type")
    if kind == "object" or (isinstance(kind, list) and "object" in kind):
        return _object(schema, key)
    if kind == "array":
        return {"type": "array", "items": _plain(schema.get("items", {}), key)}
    kinds: list[str] = [kind] if isinstance(kind, str) else list(kind or [])
    wide = sorted({"number" if one == "integer" else one for one in kinds})
    # a value that was null in all of them may be anything
    if wide in ([], ["null"]):
        return {}
    return {"type": wide[0] if len(wide) == 1 else wide}


def _object(schema: Mapping[str, Any], key: str) -> dict[str, Any]:
    properties = schema.get("properties", {})
    if key in FREE:
        return {"type": "object"}
    named = key in NAMED or any(not one.replace("_", "").isalnum() for one in properties)
    if not named:
        return {
            "type": "object",
            "properties": {name: _plain(one, name) for name, one in sorted(properties.items())},
        }
    builder = SchemaBuilder()
    for one in properties.values():
        builder.add_schema(one)
    values = _plain(builder.to_schema(), "") if properties else {}
    values.pop("$schema", None)
    return {"type": "object", "additionalProperties": values}


def file_of_schema(name: str) -> Path:
    """Where a schema is written: ``tracekit/compare/1`` in ``compare-1.json``."""
    return FOLDER / f"{name.removeprefix('tracekit/').replace('/', '-')}.json"


def write_schemas() -> None:
    """Write docs/reference/schemas anew."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, match in documents(Path(folder)).items():
            text = json.dumps(schema_of(name, match), indent=1) + "\n"
            file_of_schema(name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_schemas()
