"""Fetches the nodes and pods of a cluster through the user's kubectl."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from threading import Timer
from typing import Any, BinaryIO, cast

from isal import igzip

from tracekit.base.errors import TracekitError
from tracekit.base.files.durable import make_folder
from tracekit.base.files.replacing import replaced_file
from tracekit.base.progress import SILENT, Progress
from tracekit.base.shown import Shown
from tracekit.intake.fetch.download import disk_error
from tracekit.intake.sources import Opened
from tracekit.intake.sources.own._json_items import BrokenItem
from tracekit.intake.sources.own._kubernetes.objects import things

#: The end of stderr, which states the reason of a failure.
_ERROR_BYTES = 65_536


def _print_into(command: list[str], out: BinaryIO, timeout_s: float) -> tuple[int, str]:
    """Run a program and write its stdout to ``out``; the exit code, and the end of its stderr.

    The program and its children are killed when this call fails, and when their time is over.

    Raises
    ------
    TimeoutError
        When the program runs longer than ``timeout_s`` seconds.
    OSError
        When the program cannot be started, or its output cannot be written.
    """
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(  # noqa: S603 - the user names the program
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            stdin=subprocess.DEVNULL,
            process_group=0,
        ) as running,
    ):
        alarm = Timer(timeout_s, os.killpg, (running.pid, signal.SIGKILL))
        try:
            alarm.start()
            assert running.stdout is not None  # noqa: S101 - it is a pipe
            shutil.copyfileobj(running.stdout, out)
            code = running.wait()
            if not alarm.is_alive():
                raise TimeoutError
        finally:
            alarm.cancel()
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
        errors.seek(max(0, errors.tell() - _ERROR_BYTES))
        return code, errors.read().decode(errors="replace")


_GZIP: Any = igzip.IGzipFile


@contextmanager
def packing(path: Path) -> Iterator[BinaryIO]:
    """Open a gzip file for writing, as a context manager. Equal content gives equal bytes."""
    with (
        path.open("wb") as raw,
        _GZIP(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
    ):
        yield cast("BinaryIO", packed)


def unpacked(path: Path) -> Opened:
    """Return an ``Opened`` of a gzip file, for the readers in ``intake.sources``."""
    return Opened(
        path=path, name=path.name, stream=lambda: BufferedReader(_GZIP(filename=path, mode="rb"))
    )


_OBJECTS = "get nodes,pods --all-namespaces --output json"
#: Objects that bind pods to nodes; a user may lack the right to read them.
_RULES = {
    "volumes": "get persistentvolumes,persistentvolumeclaims --all-namespaces --output json",
    "budgets": "get poddisruptionbudgets --all-namespaces --output json",
}
#: The use that metrics-server measures; a cluster may have no metrics-server.
_MEASUREMENTS = {
    "node-metrics": "get --raw /apis/metrics.k8s.io/v1beta1/nodes",
    "pod-metrics": "get --raw /apis/metrics.k8s.io/v1beta1/pods",
}
_SHOWN = 300
#: The beginning of a line of kubectl's own log.
_LOG = re.compile(r"[EWIF]\d{4} ")


@dataclass(frozen=True, kw_only=True, repr=False)
class FetchedObjects(Shown):
    """The result of ``fetch_kubernetes``: the files that it wrote.

    Parameters
    ----------
    commands : tuple of str
        The command of each file.
    lacking : str
        Why metrics-server gave no use; empty where it gave some.
    rules_lacking : str
        Why kubectl printed no volumes or no budgets of disruption; empty where it printed both.
    """

    out: Path
    files: tuple[str, ...]
    commands: tuple[str, ...]
    nodes: int
    pods: int
    size_bytes: int
    lacking: str
    rules_lacking: str = ""


def fetch_kubernetes(
    out: str | Path,
    *,
    context: str | None = None,
    kubectl: str,
    timeout_s: float,
    progress: Progress = SILENT,
) -> FetchedObjects:
    """Write the nodes and pods that kubectl prints into files that ``ingest`` reads.

    A new file replaces the file of an earlier call once it is whole. Persistent volumes, budgets
    of disruption and the current use by metrics-server get files of their own, where the cluster
    has them and the user may read them.

    Parameters
    ----------
    context : str, optional
        The context of kubectl; its current one when None.
    kubectl : str
        The program, with its own arguments: ``k3s kubectl``.
    timeout_s : float
        Seconds after which each command is killed.

    Raises
    ------
    TracekitError
        When kubectl is missing, fails, or prints neither nodes nor pods. Nothing is written then.
    """
    program = [*shlex.split(kubectl), *([f"--context={context}"] if context else [])]
    folder = Path(out)
    try:
        make_folder(folder)
        command = [*program, *_OBJECTS.split()]
        with progress.task("kubectl get", None, "bytes"):
            target = folder / "kubernetes.json.gz"
            counts = _objects(command, target, timeout_s)
        files, commands = [target.name], [shlex.join(command)]
        lacking = {}
        for group in (_RULES, _MEASUREMENTS):
            for name, words in group.items():
                command = [*program, *words.split()]
                path = folder / f"kubernetes-{name}.json.gz"
                try:
                    _further(command, path, timeout_s, empty=group is _MEASUREMENTS)
                except TracekitError as error:
                    lacking[name] = error.what
                    continue
                commands.append(shlex.join(command))
                files += [path.name] if path.exists() else []
    except OSError as error:
        raise disk_error(error, folder) from error
    return FetchedObjects(
        out=folder,
        files=tuple(files),
        commands=tuple(commands),
        nodes=counts["Node"],
        pods=counts["Pod"],
        size_bytes=sum((folder / name).stat().st_size for name in files),
        lacking=_of(lacking, _MEASUREMENTS),
        rules_lacking=_of(lacking, _RULES),
    )


def _of(lacking: Mapping[str, str], names: Iterable[str]) -> str:
    return next((lacking[name] for name in names if name in lacking), "")


def _further(command: list[str], path: Path, timeout_s: float, *, empty: bool) -> None:
    """Write the output of a further command; remove the file where the command lists nothing.

    With ``empty`` a file without objects stays.
    """
    with replaced_file(path, follow=False) as part:
        _print_to(command, part, timeout_s)
        has_objects = empty or any(
            isinstance(one, BrokenItem) or one.kind not in ("Node", "Pod")
            for one in things(unpacked(part))
        )
    if not has_objects:
        path.unlink()


def _objects(command: list[str], target: Path, timeout_s: float) -> Counter[str]:
    """Write the nodes and pods to ``target``, and return the number of each kind."""
    with replaced_file(target, follow=False) as part:
        _print_to(command, part, timeout_s)
        counts: Counter[str] = Counter()
        for thing in things(unpacked(part), as_far_as_whole=True):
            if isinstance(thing, BrokenItem):
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
    """Write the output of a program to a gzip file; raises TracekitError when the program fails."""
    by_hand = shlex.join(command)
    try:
        with packing(path) as out:
            code, printed = _print_into(command, out, timeout_s)
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
        reason = _reason(printed) or f"exit code {code}"
        raise TracekitError(f"kubectl failed: {reason}", hint=f"run it by hand: {by_hand}")


def _reason(printed: str) -> str:
    """The reason of a failure in one line, out of what kubectl printed to stderr.

    The lines of kubectl's own log count only where no other line is printed.
    """
    lines = [line for line in printed.splitlines() if line.strip()]
    plain = [line for line in lines if not _LOG.match(line)]
    return " ".join(" ".join(plain or lines[-1:]).split())[:_SHOWN]
