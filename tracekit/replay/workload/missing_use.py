"""What stands in where the use of a container is not recorded, and how often that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.arrays import BoolArray, Float32Array, IntArray
from tracekit.replay.workload.series import hold


@dataclass(frozen=True, kw_only=True)
class Filled:
    """How much of a matrix of use was not recorded.

    Attributes
    ----------
    silent : bool, shape (containers,)
        Those without any sample.
    held : int
        Steps of the lives of the others that have no sample of their own.
    asking : int
        Of those without any sample, how many request something, which stands in.
    """

    silent: BoolArray
    held: int
    asking: int

    def facts(self) -> dict[str, int]:
        """The counts that a run tells of, by their names there."""
        return {
            "containers_without_usage": int(self.silent.sum()),
            "containers_with_request_as_use": self.asking,
            "container_steps_held": self.held,
        }


def fill(used: Float32Array, request: IntArray, alive: BoolArray) -> Filled:
    """Fill gaps in place: by the nearest sample, and by the request of who has no sample at all.

    Parameters
    ----------
    used : float32, shape (resources, steps, containers)
        NaN where there is no sample; afterwards where the container is not alive.
    request : int64, shape (containers, resources)
    alive : bool, shape (steps, containers)
    """
    gaps = np.isnan(used[0])
    silent: BoolArray = np.asarray(gaps.all(axis=0))
    held = int((gaps & alive)[:, ~silent].sum())
    hold(used)
    used[:, :, silent] = request[silent].T[:, None, :]
    used[:, ~alive] = np.nan
    return Filled(silent=silent, held=held, asking=int((request[silent] > 0).any(axis=1).sum()))


def samples_outside(
    usage: pl.DataFrame, containers: pl.DataFrame, step_ms: int, first_ms: int
) -> int:
    """How many samples lie in steps before their container arrived, or after it departed.

    A sample counts at the beginning of its step, as the replay has it.
    """
    step = first_ms + (pl.col("time_ms") - first_ms) // step_ms * step_ms
    lives = containers.select("container", "arrival_ms", "departure_ms")
    found = usage.join(lives, on="container", how="inner").select(
        outside=(step < pl.col("arrival_ms")) | (step >= pl.col("departure_ms"))
    )
    return int(found["outside"].sum())
