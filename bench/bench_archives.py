"""Archives shaped like the trace, as large as asked for; only their size and texture matter."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from isal import igzip
from numpy.typing import NDArray

BLOCK_ROWS = 200_000


def ids(kind: str, count: int) -> NDArray[np.str_]:
    """Ids of 64 hex digits."""
    return np.array([hashlib.sha256(f"{kind}{n}".encode()).hexdigest() for n in range(count)])


def resource_blocks(rows: int, rng: np.random.Generator, first: int = 0) -> Iterator[pl.DataFrame]:
    """Container rows: runs of 500 containers in the order of time, as in the released files."""
    containers = min(96_368, max(500, rows // 20))
    names, nodes, services = ids("c", containers), ids("n", 13_000), ids("s", 1_300)
    service_of = rng.integers(0, services.size, containers)
    node_of = rng.integers(0, nodes.size, containers)
    steps = -(-rows // containers)
    for start in range(0, rows, BLOCK_ROWS):
        at = np.arange(start, min(rows, start + BLOCK_ROWS))
        run, inside = np.divmod(at, 500 * steps)
        beside = np.minimum(500, containers - run * 500)  # the last run may be of fewer
        container = run * 500 + inside % beside
        noise = rng.choice([0, 3.1e-12], at.size)
        yield pl.DataFrame(
            {
                "": at,
                "msname": services[service_of[container]],
                "msinstanceid": names[container],
                "nodeid": nodes[node_of[container]],
                "instance_cpu_usage": np.round(rng.lognormal(-1.885, 0.668, at.size) * 24e3) / 24e3
                + noise,
                "instance_memory_usage": rng.beta(7.89, 4.13, at.size),
                "timestamp": (first + inside // beside) * 30_000,
            }
        )


def call_blocks(rows: int, rng: np.random.Generator, first: int = 0) -> Iterator[pl.DataFrame]:
    """Call rows: about 47 for each trace, traces mixed within a block."""
    services, interfaces = ids("s", 7_400), np.append(ids("i", 38_000), "")
    kinds = np.array(["rpc", "mc", "http", "userDefined", "mq", "db"])
    for start in range(0, rows, BLOCK_ROWS):
        at = np.arange(start, min(rows, start + BLOCK_ROWS))
        traces = max(1, at.size // 47)
        birth = 1_591_923_600_000 + first + rng.integers(0, 300_000, traces)
        trace = np.array(
            [
                f"0b{head:06x}{when}{tail:09x}"
                for head, when, tail in zip(
                    rng.integers(0, 2**24, traces).tolist(),
                    birth.tolist(),
                    rng.integers(0, 2**36, traces).tolist(),
                    strict=True,
                )
            ]
        )
        of = rng.integers(0, traces, at.size)
        kind = rng.choice(6, at.size, p=[0.454, 0.454, 0.047, 0.03, 0.012, 0.003])
        remote = (kind == 0) | (kind == 2)
        depth = np.char.add("0.1.", rng.integers(1, 30, at.size).astype(str))
        place = np.char.add(np.char.add(depth, "."), rng.integers(1, 40, at.size).astype(str))
        yield pl.DataFrame(
            {
                "": at,
                "traceid": trace[of],
                "timestamp": birth[of] - 1_591_923_600_000 + rng.integers(0, 400, at.size),
                "rpcid": place,
                "um": _or_unknown(services[rng.zipf(1.3, at.size) % services.size], rng),
                "rpctype": kinds[kind],
                "dm": _or_unknown(services[rng.zipf(1.2, at.size) % services.size], rng),
                "interface": interfaces[
                    np.where(remote, rng.integers(0, interfaces.size - 1, at.size), -1)
                ],
                "rt": np.round(rng.exponential(20, at.size)).astype(np.int64)
                * np.where(remote & (rng.random(at.size) < 0.45), -1, 1),
            }
        )


def node_blocks(rows: int, rng: np.random.Generator, first: int = 0) -> Iterator[pl.DataFrame]:
    """Node rows: 1,440 steps of each node."""
    nodes = ids("n", -(-rows // 1_440))
    for start in range(0, rows, BLOCK_ROWS):
        at = np.arange(start, min(rows, start + BLOCK_ROWS))
        node, step = np.divmod(at, 1_440)
        yield pl.DataFrame(
            {
                "": at,
                "timestamp": (first + step) * 30_000,
                "nodeid": nodes[node],
                "node_cpu_usage": rng.beta(25, 10.7, at.size),
                "node_memory_usage": rng.beta(50, 16, at.size),
            }
        )


def _or_unknown(names: NDArray[np.str_], rng: np.random.Generator) -> NDArray[np.str_]:
    return np.where(rng.random(names.size) < 0.09, "(?)", names)


Blocks = Callable[[int, np.random.Generator, int], Iterator[pl.DataFrame]]


def write_archive(path: Path, blocks: Blocks, rows: int, seed: int, first: int = 0) -> int:
    """Write a tar.gz with one CSV; returns the bytes of the CSV.

    ``first`` moves the times, so that several archives of one table follow each other.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    text = path.with_suffix(".csv.tmp")
    with text.open("wb") as out:
        for number, block in enumerate(blocks(rows, rng, first)):
            out.write(block.write_csv(include_header=number == 0).encode())
    size = text.stat().st_size
    info = tarfile.TarInfo(f"{path.name.removesuffix('.tar.gz')}.csv")
    info.size = size
    opened: Any = igzip.IGzipFile
    with opened(path, "wb", compresslevel=2) as packed, text.open("rb") as content:
        packed.write(info.tobuf())
        while piece := content.read(1 << 22):
            packed.write(piece)
        packed.write(bytes(-size % tarfile.BLOCKSIZE + 2 * tarfile.BLOCKSIZE))
    text.unlink()
    return size
