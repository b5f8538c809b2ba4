"""Asks a cluster for its nodes and pods through the user's kubectl."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tracekit.errors import TracekitError
from tracekit.fetch.packed import packing, unpacked
from tracekit.fetch.part import disk_error
from tracekit.fetch.program import print_into
from tracekit.files.replacing import replaced_file
from tracekit.progress import SILENT, Progress
from tracekit.shown import Shown
from tracekit.sources.own._json_items import Cut
from tracekit.sources.own._kubernetes_objects import things

_OBJECTS = "get nodes,pods --all-namespaces --output json"
#: What metrics-server knows; a cluster may have none.
_MEASUREMENTS = {
    "node-metrics": "get --raw /apis/metrics.k8s.io/v1beta1/nodes",
    "pod-metrics": "get --raw /apis/metrics.k8s.io/v1beta1/pods",
}
_SHOWN = 300
#: How kubectl's own log begins a line; what it tells its user stands in other lines.
_LOG = re.compile(r"[EWIF]\d{4} ")


@dataclass(frozen=True, kw_only=True, repr=False)
class FetchedObjects(Shown):
    """What kubectl printed.

    Parameters
    ----------
    commands : tuple of str
        As they were run, one for each file.
    lacking : str
        Why there is no use by metrics-server; empty where there is.
    """

    out: Path
    files: tuple[str, ...]
    commands: tuple[str, ...]
    nodes: int
    pods: int
    size_bytes: int
    lacking: str


def fetch_kubernetes(
    out: str | Path,
    *,
    context: str | None = None,
    kubectl: str,
    timeout_s: float,
    progress: Progress = SILENT,
) -> FetchedObjects:
    """Write what kubectl says of nodes and pods, into files that ``ingest`` takes.

    A file of an earlier call is replaced, once the new one is whole. Where there is a
    metrics-server, its one sample of what nodes and pods use comes along.

    Parameters
    ----------
    context : kubectl's context; its current one when None
    kubectl : the program, with arguments of its own: ``k3s kubectl``

    Raises
    ------
    TracekitError
        When there is no kubectl, when it fails, and when it prints no nodes and pods. Nothing is
        written then.
    """
    program = [*shlex.split(kubectl), *([f"--context={context}"] if context else [])]
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        command = [*program, *_OBJECTS.split()]
        with progress.task("kubectl get", None, "bytes"):
            target = folder / "kubernetes.json.gz"
            counts = _objects(command, target, timeout_s)
        files, commands = [target.name], [shlex.join(command)]
        lacking = ""
        for name, words in _MEASUREMENTS.items():
            command = [*program, *words.split()]
            path = folder / f"kubernetes-{name}.json.gz"
            try:
                with replaced_file(path) as part:
                    _print_to(command, part, timeout_s)
            except TracekitError as error:
                lacking = error.what
            else:
                files.append(path.name)
                commands.append(shlex.join(command))
    except OSError as error:
        raise disk_error(error, folder) from error
    return FetchedObjects(
        out=folder,
        files=tuple(files),
        commands=tuple(commands),
        nodes=counts["Node"],
        pods=counts["Pod"],
        size_bytes=sum((folder / name).stat().st_size for name in files),
        lacking=lacking,
    )


def _objects(command: list[str], target: Path, timeout_s: float) -> Counter[str]:
    """Nodes and pods in a file that takes its name once it is whole; how many there are."""
    with replaced_file(target) as part:
        _print_to(command, part, timeout_s)
        counts: Counter[str] = Counter()
        for thing in things(unpacked(part), as_far_as_whole=True):
            if isinstance(thing, Cut):
                raise TracekitError(
                    f"what kubectl printed {thing.reason}: {thing.text[:60]!r}",
                    hint=f"run it by hand: {shlex.join(command)}",
                )
            counts[thing.kind] += 1
        if not counts["Node"] and not counts["Pod"]:
            raise TracekitError(
                "kubectl printed neither nodes nor pods",
                hint=f"run it by hand: {shlex.join(command)}",
            )
    return counts


def _print_to(command: list[str], path: Path, timeout_s: float) -> None:
    """What a program prints, packed; raises TracekitError when it cannot be run or fails."""
    by_hand = shlex.join(command)
    try:
        with packing(path) as out:
            code, said = print_into(command, out, timeout_s)
    except FileNotFoundError:
        raise TracekitError(
            f"there is no program {command[0]}",
            hint="install kubectl, name it with --kubectl, or copy the output of"
            f" '{by_hand}' from where it is",
        ) from None
    except PermissionError:
        raise TracekitError(f"{command[0]} may not be run") from None
    except TimeoutError:
        raise TracekitError(
            f"kubectl has not ended after {timeout_s:g} s",
            hint=f"a longer patience: --timeout 3600; or run it by hand: {by_hand}",
        ) from None
    if code != 0:
        told = _told(said) or f"exit code {code}"
        raise TracekitError(f"kubectl failed: {told}", hint=f"run it by hand: {by_hand}")


def _told(said: str) -> str:
    """What a program says of its failure in one line; its log only where there is nothing else."""
    lines = [line for line in said.splitlines() if line.strip()]
    plain = [line for line in lines if not _LOG.match(line)]
    return " ".join(" ".join(plain or lines[-1:]).split())[:_SHOWN]
