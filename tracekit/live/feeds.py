"""Feeds of the state: a kubectl that watches nodes and pods, and a Prometheus."""

import asyncio
import contextlib
import gc
import json
import os
import shlex
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from tracekit.base.errors import TracekitError
from tracekit.intake.fetch.server import Server
from tracekit.intake.sources.own._prometheus.metrics import QUERIES
from tracekit.live.objects import node_of, pod_of
from tracekit.live.state import State

Log = Callable[..., None]

_WATCHED = {"Node": "nodes", "Pod": "pods --all-namespaces"}
#: The initial objects count as complete after this silence, or after this time.
_QUIET_S, _SETTLED_S = 0.5, 60.0
#: The first and the longest wait before a program is started again.
_AGAIN_S = (1.0, 30.0)
#: How much of a program's last output is logged.
_SAID_BYTES = 300
#: The longest object.
_LONGEST_BYTES = 8 << 20
#: The number of objects after which other tasks get their turn.
_AT_ONCE = 50


def apply(state: State, event: str, value: Mapping[str, Any]) -> str:
    """Add or change a Kubernetes node or pod in the state; remove it if it is deleted or ended.

    Returns the name of a node, the uid of a pod, or '' for an object of another kind. Raises
    TracekitError for an object that cannot be read.
    """
    gone = event == "DELETED"
    if value.get("kind") == "Node":
        node = node_of(value)
        state.drop_node(node.name) if gone else state.set_node(node)
        return node.name
    if value.get("kind") != "Pod":
        return ""
    pod = pod_of(value)
    if pod is None or gone:
        meta = value["metadata"]
        uid = str(meta.get("uid") or f"{meta.get('namespace') or 'default'}/{meta['name']}")
        state.drop_pod(uid)
        return uid
    state.set_pod(pod)
    return pod.uid


@dataclass(kw_only=True)
class Watch:
    """A ``kubectl get --watch`` of nodes or pods that keeps the state up to date.

    Attributes
    ----------
    ready : bool
        Whether all initial objects are in the state.
    up : bool
        Whether kubectl runs and has printed something.
    """

    kind: str
    kubectl: str
    state: State
    log: Log
    ready: bool = False
    up: bool = False
    broken: int = 0
    starts: int = 0
    _came: set[str] = field(default_factory=set)

    async def run(self) -> None:
        """Watch until cancelled. Start kubectl again whenever it ends."""
        wait_s = _AGAIN_S[0]
        while True:
            began = time.monotonic()
            try:
                await self._once()
            except OSError as error:
                self.log("watch_failed", kind=self.kind, error=str(error))
            self.up = False
            wait_s = _AGAIN_S[0] if time.monotonic() - began > _AGAIN_S[1] else wait_s
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _AGAIN_S[1])

    async def _once(self) -> None:
        """Run the program to its end, then log its stderr."""
        with tempfile.TemporaryFile() as stderr:
            try:
                await self._printed(stderr)
            finally:
                stderr.seek(max(stderr.seek(0, os.SEEK_END) - _SAID_BYTES, 0))
                text = stderr.read().decode(errors="replace").strip()
                self.log("watch_ended", kind=self.kind, said=text)

    async def _printed(self, errors: IO[bytes]) -> None:
        """Apply the objects that the program prints."""
        words = f"get {_WATCHED[self.kind]} --watch --output-watch-events --output json"
        command = [*shlex.split(self.kubectl), *words.split()]
        program = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            limit=_LONGEST_BYTES,
        )
        self.starts += 1
        self.log("watch_started", kind=self.kind, command=shlex.join(command))
        self._came = set()
        settled, began = False, time.monotonic()
        assert program.stdout is not None  # noqa: S101 - as asked for
        try:
            async for text in _documents(program.stdout):
                self.up = True
                if text:
                    self._take(text)
                late = not text or time.monotonic() - began > _SETTLED_S
                if late and not settled and self._came:
                    settled = True
                    self._sweep()
        finally:
            with contextlib.suppress(ProcessLookupError):
                program.terminate()
            await program.wait()

    def _take(self, text: bytes) -> None:
        try:
            message = json.loads(text)
            event, value = message.get("type", ""), message.get("object", message)
            if event not in ("BOOKMARK", "ERROR"):
                self._came.add(apply(self.state, event, value))
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
            self._refuse(str(error))
        except TracekitError as error:
            self._refuse(error.what)

    def _refuse(self, why: str) -> None:
        self.broken += 1
        self.log("object_refused", kind=self.kind, error=why)

    def _sweep(self) -> None:
        """Remove objects that the program has not printed since its start."""
        stored, drop = (
            (self.state.nodes, self.state.drop_node)
            if self.kind == "Node"
            else (self.state.pods, self.state.drop_pod)
        )
        for name in stored.keys() - self._came:
            drop(name)
        gc.freeze()  # the initial objects mostly stay, so garbage collection skips them
        self.ready = True
        self.log("watch_ready", kind=self.kind, objects=len(stored))


async def _documents(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Each JSON document of a stream, on one or several lines; b'' at a silence."""
    lines: list[bytes] = []
    count = size = 0
    while True:
        try:
            line = await asyncio.wait_for(stream.readline(), _QUIET_S)
        except TimeoutError:
            yield b""
            continue
        except ValueError:  # a line beyond the limit is skipped
            lines = []
            continue
        if not line:
            return
        if line.startswith(b"{"):  # an object begins; lines before it are no object
            lines, size = [], 0
        lines.append(line)
        size += len(line)
        if line.startswith(b"}") or (len(lines) == 1 and line.rstrip().endswith(b"}")):
            yield b"".join(lines)
            lines, size = [], 0
            count += 1
            if count % _AT_ONCE == 0:
                await asyncio.sleep(0)
        elif size > _LONGEST_BYTES:
            lines, size = [], 0


@dataclass(kw_only=True)
class Poll:
    """A poller that adds samples of nodes' use from Prometheus to the state, one every ``step_s``.

    Parameters
    ----------
    samples : int
        The number of samples that the first query asks for.
    """

    server: Server
    step_s: int
    rate_s: int
    samples: int
    state: State
    log: Log
    failures: int = 0

    async def run(self) -> None:
        """Query once a step until cancelled. After a failure the next query covers the gap."""
        while True:
            try:
                await self.once(time.time())
            except TracekitError as error:
                self.failures += 1
                self.log("poll_failed", error=error.what)
            await asyncio.sleep(self.step_s - time.time() % self.step_s)

    async def once(self, now_s: float) -> None:
        """Query Prometheus for samples newer than those of the state, and add them."""
        end = int(now_s) // self.step_s * self.step_s
        newest = self.state.use.newest_ms
        start = end - (self.samples - 1) * self.step_s
        if newest is not None:
            start = max(start, newest // 1000 + self.step_s)
        if start > end:
            return
        cpu, memory = [
            await asyncio.to_thread(self._series, name, start, end)
            for name in ("node_cpu_in_use", "node_memory_in_use")
        ]
        nodes = self.state.nodes
        for at in range(start, end + 1, self.step_s):
            use = {
                name: (
                    cpu.get((name, at), nan) * 1000 / (node.capacity.get("cpu_milli") or nan),
                    memory.get((name, at), nan) / (node.capacity.get("memory_bytes") or nan),
                )
                for name, node in nodes.items()
                if (name, at) in cpu or (name, at) in memory
            }
            if use:
                self.state.use.add(at * 1000, use)

    def _series(self, name: str, start: int, end: int) -> dict[tuple[str, int], float]:
        """The amount in use, by node and time in seconds."""
        query = next(one for one in QUERIES if one.name == name)
        promql = query.promql(match="", rate=f"{self.rate_s}s", span=f"{self.step_s}s")
        answer = b"".join(self.server.query_range(promql, start, end, self.step_s))
        try:
            document = json.loads(answer)
            self.server.check_answer({**document, **document["data"]})
            return {
                (series["metric"]["nodename"], int(at)): float(value)
                for series in document["data"]["result"]
                for at, value in series["values"]
            }
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise self.server.strange(answer) from None


nan = float("nan")
