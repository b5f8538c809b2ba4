"""Inputs of a sizing study: its simulation set, settings, policies, and a trained network.

A simulation set is read from a folder with the study's tables, or made from a store's trace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from tracekit.analysis.callgraph import CHAINS
from tracekit.analysis.callgraph.export import simulation_frames
from tracekit.base import parameters
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.progress import SILENT, Progress
from tracekit.sizing.agent.network import require
from tracekit.sizing.policies import SizingPolicy, all_sizing_policies, parse_sizing_policies
from tracekit.sizing.policies.simple import Ddqn
from tracekit.sizing.weights import Model, load_model
from tracekit.sizing.world.periods import CHANNELS
from tracekit.sizing.world.simset import CYCLES_SEEN, Settings, SimulationSet
from tracekit.store.folder import open_store

CALLS, STATES, MEMBERS = "calltable.csv", "containerState.csv", "chains.csv"
COLUMNS = {
    CALLS: ("timestamp", "UM", "DM", "calls"),
    STATES: ("timestamp", "containerID", "cpuNeed", "memNeed"),
    MEMBERS: ("chain", "containerID"),
}


def load_set(
    path: str | Path, *, chains: int = CHAINS, progress: Progress = SILENT
) -> SimulationSet:
    """Return the simulation set of a store's call chains, or of a folder with exported tables.

    Parameters
    ----------
    path : path
        A store with calls and container usage; or a folder with ``calltable.csv`` and
        ``containerState.csv``, and optionally ``chains.csv``, as ``tracekit callgraph --export``
        writes them. Without ``chains.csv`` containers that call each other are one chain.
    chains : int
        The number of chains to choose from a store.

    Raises
    ------
    TracekitError
        For a folder that is neither, a store without calls, or a table without a column or rows.
    """
    folder = Path(path)
    if (folder / STATES).is_file():
        return set_from_frames(folder.name, _read(folder))
    store = open_store(folder)
    if not any(entry.rows for entry in store.manifest.parts("call")):
        raise TracekitError(
            f"{folder} has no calls, which sizing by calls needs",
            hint="take in spans of its services beside it (OTLP or Jaeger); requests are"
            f" recommended from use without any: tracekit requests {folder}",
        )
    frames = simulation_frames(store, chains=chains, progress=progress)
    return set_from_frames(folder.name, frames)


def _read(folder: Path) -> dict[str, pl.DataFrame]:
    if not (folder / CALLS).is_file():
        raise TracekitError(
            f"{folder} has {STATES} but no {CALLS}",
            hint="write both: tracekit callgraph STORE --export FOLDER",
        )
    return {name: pl.read_csv(folder / name) for name in COLUMNS if (folder / name).is_file()}


def set_from_frames(name: str, frames: Mapping[str, pl.DataFrame]) -> SimulationSet:
    """Return the simulation set of the tables that ``load_set`` reads, given by file name.

    A period without a sample of a container has the need of the period before; periods before the
    first sample have the need of the first sample. ``facts`` counts such periods.
    """
    for file, frame in frames.items():
        _check(file, frame)
    states = _whole_rows(frames[STATES])
    ids = states["containerID"].unique().sort()
    calls = frames[CALLS].filter(pl.col("UM").is_in(ids) & pl.col("DM").is_in(ids))
    times = _periods(states["timestamp"])
    need, filled = _needs(states, ids, times)
    edges, per_period = _calls(calls, ids, times)
    chain = _chains(frames.get(MEMBERS), ids, edges)
    callers = np.zeros(len(ids), dtype=np.bool_)
    callers[edges[:, 1]] = True
    return SimulationSet(
        name=name,
        containers=tuple(ids.to_list()),
        chain=chain,
        need=need,
        times_ms=times,
        edges=edges,
        calls=per_period,
        facts={
            "chains": len(np.unique(chain)),
            "containers": len(ids),
            "periods": len(times),
            "containers_without_upstream": int((~callers).sum()),
            "samples_filled": filled,
            "samples_dropped": frames[STATES].height - states.height,
            "calls_of_others": frames[CALLS].height - calls.height,
        },
    )


def _whole_rows(states: pl.DataFrame) -> pl.DataFrame:
    """The rows with a time, a container and two finite needs."""
    given = states.with_columns(pl.col("cpuNeed", "memNeed").cast(pl.Float64))
    whole = given.drop_nulls(list(COLUMNS[STATES]))
    return whole.filter(pl.all_horizontal(pl.col("cpuNeed", "memNeed").is_finite()))


def _check(file: str, frame: pl.DataFrame) -> None:
    missing = [column for column in COLUMNS[file] if column not in frame.columns]
    if missing:
        raise TracekitError(
            f"{file} has no column {', '.join(missing)}; it has {', '.join(frame.columns)}",
            hint=f"its columns are {', '.join(COLUMNS[file])}",
        )
    if file == STATES and not frame.height:
        raise TracekitError(f"{file} has no rows", hint="export the set of a longer trace")


def _periods(timestamps: pl.Series) -> IntArray:
    """The times of all periods from the first sample to the last, by the most common distance."""
    times = timestamps.unique().sort().to_numpy().astype(np.int64)
    if len(times) < 2:
        raise TracekitError(
            f"{STATES} has {len(times)} period, a simulation needs more", hint="export a longer set"
        )
    steps, counts = np.unique(np.diff(times), return_counts=True)
    return np.arange(times[0], times[-1] + 1, steps[np.argmax(counts)], dtype=np.int64)


def _needs(states: pl.DataFrame, ids: pl.Series, times: IntArray) -> tuple[FloatArray, int]:
    """Needs, shape (containers, periods, 2), and the number of filled periods."""
    step = times[1] - times[0]
    period = np.rint((states["timestamp"].to_numpy() - times[0]) / step).astype(np.int64)
    container = _positions(states["containerID"], ids)
    need = np.full((len(ids), len(times), 2), np.nan)
    for resource, column in enumerate(("cpuNeed", "memNeed")):
        need[container, period, resource] = np.maximum(states[column].to_numpy(), 0.0)
    sampled = ~np.isnan(need[:, :, 0])
    latest = np.maximum.accumulate(np.where(sampled, np.arange(len(times)), -1), axis=1)
    source = np.where(latest < 0, np.argmax(sampled, axis=1)[:, None], latest)
    return need[np.arange(len(ids))[:, None], source], int((~sampled).sum())


def _positions(names: pl.Series, ids: pl.Series) -> IntArray:
    places = pl.DataFrame({"id": ids, "at": np.arange(len(ids))})
    rows = pl.DataFrame({"id": names}).join(places, on="id", how="left", maintain_order="left")
    return rows["at"].to_numpy().astype(np.int64)


def _calls(calls: pl.DataFrame, ids: pl.Series, times: IntArray) -> tuple[IntArray, FloatArray]:
    """Sorted edges, shape (edges, 2), without self-calls, and the calls on each by period."""
    ends = np.stack([_positions(calls["UM"], ids), _positions(calls["DM"], ids)], axis=1)
    other = ends[:, 0] != ends[:, 1]
    edges, edge = np.unique(ends[other], axis=0, return_inverse=True)
    # the time of a row is the end of its period
    late = np.ceil((calls["timestamp"].to_numpy()[other] - times[0]) / (times[1] - times[0]))
    period = np.clip(late, 0, len(times) - 1).astype(np.int64)
    counted = np.zeros((len(edges), len(times)))
    np.add.at(counted, (edge.reshape(-1), period), calls["calls"].to_numpy()[other])
    return edges.reshape(-1, 2).astype(np.int64), counted


def _chains(members: pl.DataFrame | None, ids: pl.Series, edges: IntArray) -> IntArray:
    if members is None:
        links = csr_matrix(
            (np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(len(ids), len(ids))
        )
        return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)
    first = members.unique("containerID", keep="first", maintain_order=True)
    joined = pl.DataFrame({"containerID": ids}).join(
        first.select("containerID", "chain"), on="containerID", how="left", maintain_order="left"
    )
    lost = joined["chain"].null_count()
    if lost:
        raise TracekitError(
            f"{lost} containers of {STATES} are on no chain of {MEMBERS}",
            hint=f"remove {MEMBERS}: containers that call each other are one chain then",
        )
    return joined["chain"].to_numpy().astype(np.int64)


#: The shipped network.
SHIPPED = Path(__file__).parent / "trained.npz"


def read_settings(assume: Sequence[str]) -> Settings:
    """Return simulation settings from texts ``name=value``; all others have their defaults."""
    _, given = parameters.split(f"settings[{','.join(assume)}]" if assume else "settings")
    made: Any = parameters.build(Settings, "sizing", given)
    if not isinstance(made, Settings):
        raise TypeError(made)
    return made


def read_model(path: Path | str | None, settings: Settings) -> Model | None:
    """Return the network in a file, which must suit the sizes of ``settings``; None if no path."""
    if path is None:
        return None
    return load_model(Path(path), channels=CHANNELS, cycles=CYCLES_SEEN, actions=settings.actions)


def choose(texts: Sequence[str]) -> tuple[SizingPolicy, ...]:
    """Return the policies that texts name; ``all`` gives every policy with its defaults."""
    return parse_sizing_policies(texts, [kind() for kind in all_sizing_policies().values()])


def shipped_model(settings: Settings) -> Model:
    """Return the shipped network, which ``make train`` trained on the made-up demo."""
    return load_model(SHIPPED, channels=CHANNELS, cycles=CYCLES_SEEN, actions=settings.actions)


def network_for(
    policies: Sequence[SizingPolicy], settings: Settings, path: Path | str | None, *, trained: bool
) -> Model | None:
    """Return the network of a file, or the shipped network; None if agents must be trained first.

    The shipped network serves agents with default parameters (except ``mask``) under default
    settings. The result is also None if no policy is an agent and no file is given.

    Parameters
    ----------
    trained : bool
        Whether agents are trained even if the shipped network would serve.

    Raises
    ------
    TracekitError
        For a file that is no network, and for a training without torch.
    """
    agents = [one for one in policies if isinstance(one, Ddqn)]
    if path is not None or not agents:
        return read_model(path, settings)
    plain = all(replace(one, mask=Ddqn.mask) == Ddqn() for one in agents)
    if plain and settings == Settings() and not trained:
        return shipped_model(settings)
    require("torch", "training the ddqn policy")
    return None
