"""Parameters that the study leaves open: cycles, sizes, nodes, reward."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from tracekit.base import parameters
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The environment's parameters; where the study gives no value the choice is ours."""

    cycle_periods: Annotated[int, About("Periods of a decision cycle (ours).", minimum=1)] = 10
    largest_cores: Annotated[int, About("Largest CPU limit; steps of one core.", minimum=1)] = 4
    largest_gb: Annotated[int, About("Largest memory limit; steps of one GB.", minimum=1)] = 4
    containers_per_node: Annotated[
        float, About("Containers per node: 225 containers on 11 nodes.", minimum=1)
    ] = 225 / 11
    node_scale: Annotated[
        float,
        About(
            "Nodes are so many times (48 cores, 48 GB) and (32, 64), in turn. With 1 they cannot"
            " hold what containers of the trace need at the study's density, whoever sizes them.",
            minimum=0.05,
        ),
    ] = 2.0
    nodes: Annotated[
        int, About("Number of nodes; 0: as many as containers_per_node asks for.", minimum=0)
    ] = 0
    reward: Annotated[
        Literal["reciprocal", "printed"],
        About("Whether R_container's reciprocal stands in the denominator, or R_container."),
    ] = "reciprocal"
    alpha0: Annotated[float, About("Weight of the reward for keeping.", minimum=0)] = 0.5
    inertia_weight: Annotated[
        float, About("Weight k of the kept cycles K in ln(k K + 1).", minimum=0)
    ] = 1.0
    beta0: Annotated[float, About("Added to the denominator.", minimum=0)] = 0.1
    penalty: Annotated[float, About("C: what an overflow costs.", minimum=0)] = 1.0
    gamma_use: Annotated[
        float, About("gamma 1-4: weight of mean and peak use of CPU and memory.", minimum=0)
    ] = 0.25
    gamma_g: Annotated[float, About("gamma 5: weight of the container's G.", minimum=0)] = 1.0
    gamma_node_g: Annotated[float, About("gamma 6: weight of the node's G.", minimum=0)] = 1.0
    gamma_node_d: Annotated[float, About("gamma 7: weight of the node's D.", minimum=0)] = 1.0

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    @property
    def largest(self) -> FloatArray:
        """The largest limits, cores and GB."""
        return np.array([self.largest_cores, self.largest_gb], dtype=np.float64)

    @property
    def actions(self) -> int:
        """How many sizes there are."""
        return self.largest_cores * self.largest_gb

    def sizes(self) -> FloatArray:
        """Every size, shape (actions, 2), cores and GB; (c, g) stands at ``index_of``."""
        cores, memory = np.meshgrid(
            np.arange(1, self.largest_cores + 1), np.arange(1, self.largest_gb + 1), indexing="ij"
        )
        return np.stack([cores.ravel(), memory.ravel()], axis=1).astype(np.float64)

    def index_of(self, limits: FloatArray) -> IntArray:
        """Positions of limits, shape (..., 2), among the sizes: 4 (c - 1) + (g - 1) by default."""
        whole = np.asarray(limits).astype(np.int64)
        return np.asarray(self.largest_gb * (whole[..., 0] - 1) + whole[..., 1] - 1)

    def fitted(self, wanted: FloatArray) -> FloatArray:
        """The smallest sizes that hold what is wanted, or the largest size there is."""
        # a forecast of exactly two cores must not become three by the last digit
        return np.asarray(np.clip(np.ceil(np.asarray(wanted) - 1e-9), 1.0, self.largest))

    def coefficients(self) -> FloatArray:
        """The coefficients of the compiled reward."""
        return np.array(
            [
                self.alpha0,
                self.inertia_weight,
                self.beta0,
                self.penalty,
                self.gamma_use,
                self.gamma_g,
                self.gamma_node_g,
                self.gamma_node_d,
                float(self.reward == "printed"),
            ]
        )
