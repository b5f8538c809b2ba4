"""tracekit: cluster-trace analytics and scheduling research.

The library's front door: the same verbs as the command line, returning polars frames::

    import tracekit

    tracekit.ingest("traces/", "mystore")
    tracekit.query("mystore", "usage/zone_summary")
    tracekit.replay("mystore", ["first_fit", "least_allocated"], out="run")
    tracekit.report("run", out="report.html")

Every file of ``tracekit.commands`` is a verb. Nothing heavy is imported until one is called for, so
that ``tracekit --help`` answers at once.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING

from tracekit import commands

if TYPE_CHECKING:
    # what type checkers and editors see; a test holds it to the files there are
    from tracekit.commands.analyze import analyze as analyze
    from tracekit.commands.bind import bind as bind
    from tracekit.commands.callgraph import callgraph as callgraph
    from tracekit.commands.check import check as check
    from tracekit.commands.claims import claims as claims
    from tracekit.commands.compare import compare as compare
    from tracekit.commands.connect import connect as connect
    from tracekit.commands.estimate import estimate as estimate
    from tracekit.commands.explain import explain as explain
    from tracekit.commands.export import export as export
    from tracekit.commands.export_chains import export_chains as export_chains
    from tracekit.commands.extender_bench import extender_bench as extender_bench
    from tracekit.commands.fetch import fetch as fetch
    from tracekit.commands.fetch_kubernetes import fetch_kubernetes as fetch_kubernetes
    from tracekit.commands.fetch_prometheus import fetch_prometheus as fetch_prometheus
    from tracekit.commands.fit import fit as fit
    from tracekit.commands.info import info as info
    from tracekit.commands.ingest import ingest as ingest
    from tracekit.commands.listing import listing as listing
    from tracekit.commands.nodes import nodes as nodes
    from tracekit.commands.optimize_bench import optimize_bench as optimize_bench
    from tracekit.commands.placement_bench import placement_bench as placement_bench
    from tracekit.commands.query import query as query
    from tracekit.commands.replay import replay as replay
    from tracekit.commands.report import report as report
    from tracekit.commands.requests import requests as requests
    from tracekit.commands.run import run as run
    from tracekit.commands.sensitivity import sensitivity as sensitivity
    from tracekit.commands.serve import serve as serve
    from tracekit.commands.synth import synth as synth

    plan = estimate
    score = explain
    shrink = nodes
    size = requests
    vary = sensitivity

_VERBS = frozenset(commands.function_names())


class _FrontDoor(types.ModuleType):
    """Keeps a verb a verb: importing the package of the same name must not hide it."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, types.ModuleType) and name in _VERBS):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor


if not TYPE_CHECKING:  # a type checker that saw this would take any name for a verb

    def __getattr__(name: str) -> object:
        name = commands.FORMERLY.get(name, name)
        if name not in _VERBS:
            raise AttributeError(f"module 'tracekit' has no attribute '{name}'")
        verb = getattr(importlib.import_module(f"tracekit.commands.{name}"), name)
        return importlib.import_module("tracekit.commands._damage").with_damage_explained(verb)


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *_VERBS})
