"""What there is of each kind, read from the registries."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracekit.errors import TracekitError, nearest, unknown_name
from tracekit.shown import EntriesShown

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
    """The entry of that name; raises TracekitError that suggests a near one."""
    entries = {str(one["name"]): one for one in listing(kind)}
    if name not in entries:
        raise unknown_name(_singular(kind), name, entries, listing=f"tracekit list {kind}")
    return entries[name]


def _singular(kind: str) -> str:
    return f"{kind[:-3]}y" if kind.endswith("ies") else kind.removesuffix("s")


def _sources() -> list[Entry]:
    from tracekit.sources import ClusterSource, all_sources

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
    from tracekit.tables import all_tables

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
    from tracekit.sqlfiles import all_queries

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


def _metrics() -> list[Entry]:
    from tracekit.metrics import all_metrics

    return [
        {"name": name, "title": metric.title, "unit": metric.unit, "source": metric.source}
        for name, metric in all_metrics().items()
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


def _policies() -> list[Entry]:
    from tracekit.replay.placement import all_policies

    return [_policy(name, policy) for name, policy in all_policies().items()]


def _rebalancers() -> list[Entry]:
    from tracekit.replay.rebalance import all_rebalancers

    return [_policy(name, policy) for name, policy in all_rebalancers().items()]


def _assumptions() -> list[Entry]:
    """What ``--assume`` takes: of traces without sizes, of stores with sizes, or of both."""
    from tracekit.replay.workload.assumptions import Assumptions
    from tracekit.replay.workload.sized.assumptions import SizedAssumptions

    kinds = {"a trace without sizes": Assumptions, "a store with sizes": SizedAssumptions}
    found: dict[str, dict[str, Any]] = {}
    for load, kind in kinds.items():
        for one in _params(kind):
            known = found.setdefault(str(one["name"]), {"title": {}, "default": {}})
            known["title"][load] = one["description"]
            known["default"][load] = one["default"]
    return [
        {
            "name": name,
            "title": _by_load(about["title"], "{load}: {value}", " "),
            "default": _by_load(about["default"], "{value} of {load}", "; "),
            "of": list(about["title"]),
        }
        for name, about in sorted(found.items())
    ]


def _by_load(of: dict[str, Any], each: str, between: str) -> Any:
    """What holds for every kind of store; where it differs, each kind's own."""
    values = list(of.values())
    if all(value == values[0] for value in values):
        return values[0]
    return between.join(each.format(load=load, value=value) for load, value in of.items())


def _sizing_policies() -> list[Entry]:
    from tracekit.sizing.policies import all_sizing_policies

    return [_policy(name, policy) for name, policy in all_sizing_policies().items()]


def _policy(name: str, policy: Any) -> Entry:
    return {
        "name": name,
        "title": first_sentence(policy.__doc__ or ""),
        "source": policy.source,
        "reads": sorted(policy.reads),
        "params": _params(policy),
    }


def _searches() -> list[Entry]:
    from tracekit.replay.optimize.searches import all_searches

    return [
        {
            "name": name,
            "title": first_sentence(search.__doc__ or ""),
            "source": search.search_source,
            "params": _params(search),
        }
        for name, search in all_searches().items()
    ]


def _functions() -> list[Entry]:
    from tracekit.replay.optimize.functions import all_functions

    return [
        {
            "name": name,
            "title": function.title,
            "formula": function.formula,
            "bound": function.bound,
        }
        for name, function in all_functions().items()
    ]


def _workloads() -> list[Entry]:
    from tracekit.replay.workload.loaders import all_loaders

    return [
        {
            "name": name,
            "title": loader.title,
            "source": loader.source,
            "files": loader.files,
            "params": _params(loader),
        }
        for name, loader in all_loaders().items()
    ]


def _params(kind: Any) -> list[Entry]:
    """Parameters of a dataclass, with defaults and what they mean."""
    from tracekit import parameters
    from tracekit.values import spell

    return [
        {"name": name, "default": spell(getattr(kind, name)), "description": about.doc}
        for name, about in parameters.about(kind).items()
    ]


def _figures() -> list[Entry]:
    from tracekit.report.figures import all_figures

    return [
        {"name": name, "title": figure.title, "question": figure.question}
        for name, figure in all_figures().items()
    ]


def _reports() -> list[Entry]:
    from tracekit.report.pages import all_pages

    return [{"name": name, "title": page.title} for name, page in all_pages().items()]


def _models() -> list[Entry]:
    from tracekit.fit.models import all_models

    return [{"name": name, "title": model.title} for name, model in all_models().items()]


def _presets() -> list[Entry]:
    from tracekit.synth.presets import all_presets

    return [{"name": name, "title": preset.title} for name, preset in all_presets().items()]


def first_sentence(text: str) -> str:
    """A docstring's first sentence, on one line."""
    return " ".join(text.strip().split("\n\n")[0].split())


KINDS: Mapping[str, Callable[[], Sequence[Entry]]] = {
    "sources": _sources,
    "tables": _tables,
    "queries": _queries,
    "metrics": _metrics,
    "measures": _measures,
    "figures": _figures,
    "policies": _policies,
    "assumptions": _assumptions,
    "rebalancers": _rebalancers,
    "sizing_policies": _sizing_policies,
    "reports": _reports,
    "searches": _searches,
    "functions": _functions,
    "workloads": _workloads,
    "presets": _presets,
    "models": _models,
}
