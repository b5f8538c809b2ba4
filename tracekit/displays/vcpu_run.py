"""Placement down to the vCPU: policies beside each other."""

from tracekit.binding.run import VcpuRun
from tracekit.shown import Page, page_of


def page(run: VcpuRun) -> Page:
    """The page of a replay down to the vCPU."""
    return page_of(run, title=f"Replay of {run.workload.name} down to the vCPU")
