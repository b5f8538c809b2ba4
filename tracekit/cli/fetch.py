"""tracekit fetch: download the archives of a release."""

from tracekit.base.words import counted
from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_table

PANEL = Panel.data


def command(asked: Asked, json: JsonOption = False) -> None:
    """Download the archives of a release; run again to go on where it stopped.

    Broken lines are mended, every archive is checked to its last byte, and
    none gets its final name before it is whole. Your own cluster comes by
    tracekit fetch kubernetes and tracekit fetch prometheus.

    Example: tracekit fetch ctm21 traces --tables node,resource --parts 0-3
    """
    import dataclasses

    from tracekit.base import units

    summary = asked()
    size = sum(file.size_bytes for file in summary.files)
    if json:
        document = {"release": summary.release, "out": str(summary.out), "size_bytes": size}
        files = [dataclasses.asdict(file) for file in summary.files]
        print_json({"schema": "tracekit/fetch/1", **document, "files": files})
        return
    many = counted(len(summary.files), "archive")
    print_table(
        f"{many}, {units.size(size)}, in {summary.out}",
        ["file", "size", "outcome"],
        [[file.path, units.size(file.size_bytes), file.outcome] for file in summary.files],
        note=f"next: tracekit ingest {summary.out} STORE",
    )
