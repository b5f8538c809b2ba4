"""The entries of each kind, such as policies and queries, from the registries."""

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tracekit.base import registry
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.shown import EntriesShown

Entry = Mapping[str, Any]


def listing(kind: str) -> Sequence[Entry]:
    """The entries of a kind, each with ``name``, ``title`` and what else describes it.

    Raises TracekitError for an unknown kind.
    """
    if kind not in KINDS:
        close = nearest(kind, KINDS)
        raise TracekitError(
            f"no kind '{kind}'; kinds: {', '.join(KINDS)}",
            hint=f"did you mean '{close}'?" if close else "for example: tracekit list queries",
        )
    return EntriesShown(kind, KINDS[kind]())


def entry(kind: str, name: str) -> Entry:
    """Return the entry of a name; raises TracekitError with a similar name."""
    entries = {str(one["name"]): one for one in listing(kind)}
    return registry.pick(entries, name, _singular(kind), listing=f"tracekit list {kind}")


def _singular(kind: str) -> str:
    return f"{kind[:-3]}y" if kind.endswith("ies") else kind.removesuffix("s")


def _sources() -> list[Entry]:
    from tracekit.intake.sources import ClusterSource, all_sources

    return [
        {
            "name": name,
            "title": source.title,
            "url": source.url,
            "tables": {fmt.file_stem: fmt.table for fmt in source.formats},
            "files": {file.word: file.title for file in source.files}
            if isinstance(source, ClusterSource)
            else {},
            "notes": source.notes,
        }
        for name, source in all_sources().items()
    ]


def _tables() -> list[Entry]:
    from tracekit.store.tables import all_tables

    return [
        {
            "name": name,
            "title": f"{table.title} ({table.grain})",
            "columns": [
                {"name": c.name, "type": c.sql_type, "unit": c.unit, "description": c.description}
                for c in table.columns
            ],
        }
        for name, table in all_tables().items()
    ]


def _queries() -> list[Entry]:
    from tracekit.store.sqlfiles import all_queries

    return [
        {
            "name": query.name,
            "title": query.title,
            "description": query.description,
            "params": [vars(param) for param in query.params],
            "columns": [
                {"name": c.name, "type": c.type, "description": c.description}
                for c in query.columns
            ],
        }
        for query in all_queries().values()
    ]


def _measures() -> list[Entry]:
    from tracekit.replay.measures import ENDS, all_measures

    bounds = {"any": "proven for any placement", "requests": "proven where requests are respected"}
    return [
        {
            "name": name,
            "title": one.title,
            "description": f"{one.meaning[0].upper()}{one.meaning[1:]}.",
            "formula": one.formula,
            "unit": one.unit,
            "better": f"{ENDS[one.better]}: {one.because}",
            "over_steps": one.over_steps if one.step else "",
            "bound": bounds[one.bound] if one.bound else "",
        }
        for name, one in all_measures().items()
    ]


def _assumptions() -> list[Entry]:
    """The assumptions of ``--assume``, for traces without sizes and stores with sizes."""
    from tracekit.cluster.assumptions import Assumptions, SizedAssumptions
    from tracekit.cluster.circumstances import NAMES

    kinds = {"a trace without sizes": Assumptions, "a store with sizes": SizedAssumptions}
    by_name: dict[str, dict[str, Any]] = {}
    for load, kind in kinds.items():
        for one in _params(kind):
            entry = by_name.setdefault(str(one["name"]), {"title": {}, "default": {}})
            entry["title"][load] = one["description"]
            entry["default"][load] = one["default"]
    for name, meaning in NAMES.items():
        by_name[name] = {"title": dict.fromkeys(kinds, meaning), "default": dict.fromkeys(kinds)}
    return [
        {
            "name": name,
            "title": _by_load(about["title"], "{load}: {value}", " "),
            "default": _by_load(about["default"], "{value} of {load}", "; "),
            "of": list(about["title"]),
        }
        for name, about in sorted(by_name.items())
    ]


def _by_load(of: dict[str, Any], each: str, between: str) -> Any:
    """A value that is the same for all kinds of stores; else a text with each kind's value."""
    values = list(of.values())
    if all(value == values[0] for value in values):
        return values[0]
    return between.join(each.format(load=load, value=value) for load, value in of.items())


def _plain(module: str, getter: str, *fields: str) -> Callable[[], list[Entry]]:
    """A function that lists a registry's entries by name, with some of their fields."""

    def listed() -> list[Entry]:
        return [
            {"name": name, **{field: getattr(one, field) for field in fields}}
            for name, one in _registered(module, getter)
        ]

    return listed


def _policies(module: str, getter: str) -> Callable[[], list[Entry]]:
    """A function that lists policies: title, source, data they read, parameters."""

    def listed() -> list[Entry]:
        return [
            {
                "name": name,
                "title": first_sentence(policy.__doc__ or ""),
                "source": policy.source,
                "reads": sorted(policy.reads),
                "params": _params(policy),
            }
            for name, policy in _registered(module, getter)
        ]

    return listed


def _registered(module: str, getter: str) -> Iterable[tuple[str, Any]]:
    # a registry is imported when it is listed, so that --help stays fast
    entries: Mapping[str, Any] = getattr(importlib.import_module(f"tracekit.{module}"), getter)()
    return entries.items()


def _searches() -> list[Entry]:
    from tracekit.policy.search.searches import all_searches

    return [
        {
            "name": name,
            "title": first_sentence(search.__doc__ or ""),
            "source": search.search_source,
            "params": _params(search),
        }
        for name, search in all_searches().items()
    ]


def _workloads() -> list[Entry]:
    from tracekit.cluster.assumptions import SizedAssumptions
    from tracekit.cluster.named import NAMED, Paper000

    every = {one["name"]: one for one in _params(SizedAssumptions)}
    drawn = {"paper000": _params(Paper000)}
    return [
        {
            "name": name,
            "title": one.title,
            "source": one.source,
            "files": one.files,
            "params": [
                *drawn.get(name, ()),
                *({**every[key], "default": value} for key, value in one.assumed.items()),
            ],
        }
        for name, one in NAMED.items()
    ]


def _params(kind: Any) -> list[Entry]:
    """The parameters of a dataclass, with defaults and descriptions."""
    from tracekit.base import parameters
    from tracekit.base.parameters import spell

    return [
        {"name": name, "default": spell(getattr(kind, name)), "description": about.doc}
        for name, about in parameters.about(kind).items()
    ]


def first_sentence(text: str) -> str:
    """Return a docstring's first sentence, on one line."""
    return " ".join(text.strip().split("\n\n")[0].split())


KINDS: Mapping[str, Callable[[], Sequence[Entry]]] = {
    "sources": _sources,
    "tables": _tables,
    "queries": _queries,
    "metrics": _plain("analysis.metrics", "all_metrics", "title", "unit", "source"),
    "measures": _measures,
    "figures": _plain("report.figures", "all_figures", "title", "question"),
    "policies": _policies("policy.placement", "all_policies"),
    "assumptions": _assumptions,
    "rebalancers": _policies("policy.rebalance", "all_rebalancers"),
    "sizing_policies": _policies("sizing.policies", "all_sizing_policies"),
    "reports": _plain("report.render", "all_pages", "title"),
    "searches": _searches,
    "functions": _plain("policy.search.problem", "all_functions", "title", "formula", "bound"),
    "workloads": _workloads,
    "presets": _plain("synth.presets", "all_presets", "title"),
    "formats": _plain("live.export", "all_formats", "title"),
    "models": _plain("interference.models", "all_models", "title"),
}
