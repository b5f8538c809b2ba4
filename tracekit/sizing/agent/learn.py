"""One update: double target, Huber loss weighted by how often a transition is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tracekit.arrays import BoolArray, Float32Array, FloatArray
from tracekit.sizing.agent.memory import Batch
from tracekit.sizing.agent.network import act, torch_ready


def double_target(
    reward: Float32Array | float,
    gamma: float,
    q_next: Float32Array,
    q_target_next: Float32Array,
    *,
    allowed: BoolArray | None = None,
    done: ArrayLike = False,
) -> FloatArray:
    """Eq 4: ``y = r + gamma q_target(s', argmax_a q(s', a))``; ``r`` alone where it is done.

    Parameters
    ----------
    q_next, q_target_next : array, shape (..., actions)
        Of the network that learns, and of the target network.
    allowed : bool, shape (..., actions), optional
        Sizes that can be chosen in the next state.
    """
    compared = q_next if allowed is None else np.where(allowed, q_next, -np.inf)
    best = np.argmax(compared, axis=-1)[..., None]
    following = np.take_along_axis(np.asarray(q_target_next), best, axis=-1)[..., 0]
    return np.asarray(reward + gamma * following * ~np.asarray(done, dtype=np.bool_))


class Learner:
    """The network that learns, its target, and Adam."""

    def __init__(self, network: Any, target: Any, *, gamma: float, rate: float) -> None:
        self._torch = torch_ready()
        self.network, self.target = network, target
        self.target.load_state_dict(network.state_dict())
        self._gamma = gamma
        self.optimizer = self._torch.optim.Adam(network.parameters(), lr=rate, fused=True)

    def values(self, states: Float32Array) -> Float32Array:
        """The q of every size, shape (states, actions)."""
        with self._torch.inference_mode():
            found: Float32Array = act(self.network, self._torch.from_numpy(states)).numpy()
        return found

    def update(self, batch: Batch) -> tuple[FloatArray, float]:
        """Learn from a batch; each transition's error, and the loss."""
        torch = self._torch
        with torch.inference_mode():
            following = torch.from_numpy(batch.following)
            q_next, q_target = self.network(following).numpy(), self.target(following).numpy()
        wanted = double_target(
            batch.rewards, self._gamma, q_next, q_target, allowed=batch.allowed
        ).astype(np.float32)
        q = self.network(torch.from_numpy(batch.states))
        taken = q.gather(1, torch.from_numpy(batch.actions)[:, None])[:, 0]
        y = torch.from_numpy(wanted)
        losses = torch.nn.functional.smooth_l1_loss(taken, y, reduction="none")
        loss = (losses * torch.from_numpy(batch.weights)).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return (wanted - taken.detach().numpy()).astype(np.float64), loss.item()

    def sync(self) -> None:
        """Copy the network to the target."""
        self.target.load_state_dict(self.network.state_dict())
