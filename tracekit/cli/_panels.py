"""What one wants to do: the headings under which ``tracekit --help`` lists the subcommands."""

from __future__ import annotations

from enum import StrEnum


class Panel(StrEnum):
    """A heading; they are shown in this order. A subcommand's file names its own as ``PANEL``."""

    whole = "Everything at once"
    data = "Get data in"
    look = "See what a trace holds"
    replay = "Try other schedulers"
    sizes = "Neighbours on a host, sizes of containers"
    search = "Population searches"
    tell = "Tell others, and find your way"
