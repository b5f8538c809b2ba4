"""tracekit: cluster-trace analytics and scheduling research.

The library's front door: the same verbs as the command line, returning polars frames::

    import tracekit

    tracekit.ingest("traces/", "mystore")
    tracekit.query("mystore", "usage/zone_summary")
    tracekit.replay("mystore", ["first_fit", "least_allocated"], out="run")
    tracekit.report("run", out="report.html")

Every file of ``tracekit.verbs`` is a verb. Nothing heavy is imported until one is called for, so
that ``tracekit --help`` answers at once.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING

from tracekit import verbs
from tracekit.base import registry

if TYPE_CHECKING:
    # what type checkers and editors see; a test holds it to the files there are
    from tracekit.verbs.analyze import analyze as analyze
    from tracekit.verbs.bind import bind as bind
    from tracekit.verbs.callgraph import callgraph as callgraph
    from tracekit.verbs.check import check as check
    from tracekit.verbs.claims import claims as claims
    from tracekit.verbs.compare import compare as compare
    from tracekit.verbs.connect import connect as connect
    from tracekit.verbs.estimate import estimate as estimate
    from tracekit.verbs.explain import explain as explain
    from tracekit.verbs.export import export as export
    from tracekit.verbs.export_chains import export_chains as export_chains
    from tracekit.verbs.extender_bench import extender_bench as extender_bench
    from tracekit.verbs.fetch import fetch as fetch
    from tracekit.verbs.fetch_kubernetes import fetch_kubernetes as fetch_kubernetes
    from tracekit.verbs.fetch_prometheus import fetch_prometheus as fetch_prometheus
    from tracekit.verbs.fit import fit as fit
    from tracekit.verbs.info import info as info
    from tracekit.verbs.ingest import ingest as ingest
    from tracekit.verbs.listing import listing as listing
    from tracekit.verbs.nodes import nodes as nodes
    from tracekit.verbs.optimize_bench import optimize_bench as optimize_bench
    from tracekit.verbs.placement_bench import placement_bench as placement_bench
    from tracekit.verbs.query import query as query
    from tracekit.verbs.replay import replay as replay
    from tracekit.verbs.report import report as report
    from tracekit.verbs.requests import requests as requests
    from tracekit.verbs.run import run as run
    from tracekit.verbs.sensitivity import sensitivity as sensitivity
    from tracekit.verbs.serve import serve as serve
    from tracekit.verbs.synth import synth as synth

    plan = estimate
    score = explain
    shrink = nodes
    size = requests
    vary = sensitivity

_VERBS = frozenset(registry.module_names(verbs))


class _FrontDoor(types.ModuleType):
    """Keeps a verb a verb: importing the package of the same name must not hide it."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, types.ModuleType) and name in _VERBS):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor


if not TYPE_CHECKING:  # a type checker that saw this would take any name for a verb

    def __getattr__(name: str) -> object:
        name = verbs.FORMERLY.get(name, name)
        if name not in _VERBS:
            raise AttributeError(f"module 'tracekit' has no attribute '{name}'")
        sound = importlib.import_module("tracekit.verbs._sound").sound
        return sound(getattr(importlib.import_module(f"tracekit.verbs.{name}"), name))


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *_VERBS})
