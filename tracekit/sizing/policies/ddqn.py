"""The agent of the study: a double deep Q-network over absolute sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from tracekit.base.arrays import FloatArray
from tracekit.base.parameters import About
from tracekit.sizing.policy import Given, Reads, SizingPolicy
from tracekit.sizing.weights import Model, greedy, one_step, values
from tracekit.sizing.world.simset import Settings
from tracekit.sizing.world.simulation import View


@dataclass(frozen=True, kw_only=True)
class Ddqn(SizingPolicy):
    """Choose the size of the largest q in the state of the container, its upstreams and its node.

    Training uses the UCB choice as printed (eq 10), the double target (eq 4), rewards handed back
    (eq 14), proportional prioritised replay, and Adam on the Huber loss.
    """

    source: ClassVar[str] = (
        "Yao et al., C.S.A. 2023 32(4), section 3: eqs 4-14; values not given there are ours"
    )
    reads: ClassVar[frozenset[Reads]] = frozenset({"state", "model"})

    mask: Annotated[
        Literal["fits", "step"],
        About("fits: any size with room; step: at most one core and one GB from the present."),
    ] = "fits"
    gamma: Annotated[float, About("Discount of the next state's value.", minimum=0, maximum=1)] = (
        0.95
    )
    exploration: Annotated[
        float,
        About(
            "c of the UCB choice. With 1, the plain reading of eq 10, the agent soon stops trying"
            " other sizes, as n grows to millions; 10 is ours.",
            minimum=0,
        ),
    ] = 10.0
    counts: Annotated[
        Literal["agent", "epoch"],
        About("Scope of n and n_a of the UCB choice: all of training, or an epoch."),
    ] = "agent"
    backprop: Annotated[
        Literal["root", "gamma", "off"],
        About("Rewards handed back by eq 14 (root), by gamma, or not at all."),
    ] = "root"
    backprop_steps: Annotated[int, About("Decisions that get a part of a reward.", minimum=1)] = 3
    learning_rate: Annotated[float, About("Adam's step.", minimum=1e-9)] = 1e-3
    batch: Annotated[int, About("Transitions in an update.", minimum=1)] = 64
    buffer: Annotated[int, About("Transitions in the memory.", minimum=64)] = 50_000
    start_after: Annotated[int, About("Transitions before the first update.", minimum=1)] = 1_000
    sync: Annotated[int, About("Updates between copies to the target network.", minimum=1)] = 200
    steps: Annotated[int, About("The most cycles of a container in an epoch.", minimum=1)] = 64
    epoch_containers: Annotated[
        int, About("The most containers of an epoch, from whole chains.", minimum=1)
    ] = 40
    pretraining: Annotated[
        int, About("Epochs on a small set of chains at the beginning.", minimum=0)
    ] = 100
    pretraining_chains: Annotated[int, About("Chains of the small set.", minimum=1)] = 30
    epochs: Annotated[int, About("Epochs on all training chains.", minimum=0)] = 1_000
    validate_every: Annotated[
        int,
        About(
            "Epochs between trials without exploration on the small set; the network of the best"
            " trial is the result. 0: no trials, the last network.",
            minimum=0,
        ),
    ] = 25

    def start(self, given: Given) -> Choosing:
        """A sizer that uses the trained network without exploration."""
        if given.model is None:
            raise TypeError("ddqn reads 'model'")
        return Choosing(self, given.model, given.settings)


class Choosing:
    """Chooses the size of the largest q among the possible sizes."""

    def __init__(self, policy: Ddqn, model: Model, settings: Settings) -> None:
        self._policy, self._model = policy, model
        self._sizes = settings.sizes()

    def size(self, view: View) -> FloatArray:
        """The size of the largest q for each due container, shape (due, 2)."""
        allowed = view.possible()
        if self._policy.mask == "step":
            allowed = one_step(allowed, view.limit, self._sizes)
        return self._sizes[greedy(values(self._model, view.state()), allowed)]
