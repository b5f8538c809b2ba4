"""The page on reproduction: commands, parameters, sources and programs."""

from collections.abc import Mapping
from importlib import metadata
from typing import Any

import polars as pl

from tracekit.base.facts import Followup, Scalar
from tracekit.intake.sources import all_sources
from tracekit.policy.entrant import FILES
from tracekit.policy.parse import by_name
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.run_folder import assumed_of
from tracekit.report.data import Data
from tracekit.report.sentences import command

#: The libraries in a page, and their purpose.
_PROGRAMS = {"plotly": "figures", "itables": "tables"}


def commands(data: Data) -> list[str]:
    """Return the commands that reproduce a report, in order."""
    paths = data.paths
    steps: list[tuple[str, Mapping[str, Any]]] = []
    if data.has_store:
        steps.append(("ingest", {"SRC": "SRC", "STORE": paths.store}))
    if data.run is not None:
        steps.append(("replay", _replay(data, data.run)))
    shown = "again" if data.run is not None else paths.source
    steps.append(("report", {"SOURCE": shown, "out": "again.html"}))
    return [command(Followup(question="", command=verb, arguments=one)) for verb, one in steps]


def _replay(data: Data, run: Mapping[str, Any]) -> dict[str, Scalar | list[str]]:
    """The arguments that reproduce the run."""
    load, looks = run["workload"], run.get("repeats_looks") or [run.get("repeats", 1)]
    replayed = {"workload": data.paths.workload} if data.paths.workload else {}
    several = [one for one in run["policies"] if one.get("repeats", run.get("repeats", 1)) > 1]
    named = [] if len(several) == len(run["policies"]) else _names(data, several)
    return {
        **(replayed or {"STORE": data.paths.store}),
        "policy": _names(data, run["policies"]),
        "assume": assumed_of(load),
        "gang": load.get("admitted") == "gangs",
        "seed": run.get("seed") or None,
        "repeat": looks[0],
        "repeat_up_to": looks[-1] if len(looks) > 1 else None,
        "repeat_policy": named,
        "out": "again",
    }


def _names(data: Data, policies: list[Mapping[str, Any]]) -> list[str]:
    return [data.paths.policy(one["policy"]) for one in policies if one["policy"] != OBSERVED]


def assumptions(data: Data) -> pl.DataFrame:
    """Return a table of name and value: the origin of each quantity, then each assumption."""
    load = (data.run or {}).get("workload", {})
    origins = load.get("quantities") or (data.info or {}).get("quantities", {})
    rows = [{"name": name, "value": how} for name, how in origins.items()]
    rows += [{"name": name, "value": str(v)} for name, v in load.get("assumptions", {}).items()]
    return pl.DataFrame(rows, schema={"name": pl.String, "value": pl.String})


def policies(data: Data) -> pl.DataFrame:
    """The policies of the run with their parameters, and the user's files with their digests."""
    rows = []
    for one in (data.run or {}).get("policies", ()):
        files = one.get(FILES, ())
        named = [data.paths.files.get(next(iter(by_name([file]))), file["path"]) for file in files]
        rows.append(
            {
                "policy": one["policy"],
                "parameters": ", ".join(f"{k}={v}" for k, v in one.get("parameters", {}).items()),
                "source": one.get("source", ""),
                "file": ", ".join(named),
                "sha256": ", ".join(file["sha256"] for file in files),
            }
        )
    frame = pl.DataFrame(rows, schema=dict.fromkeys(_POLICY_COLUMNS, pl.String))
    empty = [name for name in ("file", "sha256") if not (frame[name] != "").any()]
    return frame.drop(empty)


_POLICY_COLUMNS = ("policy", "parameters", "source", "file", "sha256")


def sources(data: Data) -> pl.DataFrame:
    """Return a row for each release in a store; a made-up trace has neither licence nor address."""
    declared, entries = all_sources(), (data.info or {}).get("sources", [])
    rows = []
    for name in sorted({entry["release"] for entry in entries}):
        own = [entry for entry in entries if entry["release"] == name]
        source = None if data.made_up else declared.get(name)
        rows.append(
            {
                "source": source.title if source else name,
                "made up": data.made_up,
                "files": len({entry["file"] for entry in own}),
                "rows": sum(entry["rows"] for entry in own),
                "licence": getattr(source, "licence", None),
                "address": getattr(source, "url", None),
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def files(data: Data) -> pl.DataFrame:
    """Return every source file with its size and checksum."""
    entries = (data.info or {}).get("sources", [])
    names = ("file", "table", "size_bytes", "rows", "rejected", "sha256")
    rows = [{name: entry.get(name) for name in names} for entry in entries]
    return pl.DataFrame(rows, infer_schema_length=None)


def programs() -> pl.DataFrame:
    """Return the libraries that draw figures and tables, with their licences."""
    rows = [
        {"library": name, "for": what, "version": metadata.version(name), "licence": _licence(name)}
        for name, what in _PROGRAMS.items()
    ]
    return pl.DataFrame(rows)


def _licence(name: str) -> str:
    about = metadata.metadata(name).json
    text = str(about.get("license_expression") or about.get("license") or "")
    return next(iter(text.splitlines()), "")
