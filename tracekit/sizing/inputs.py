"""Inputs of a sizing study: settings, a trained network, policies."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tracekit import parameters
from tracekit.errors import TracekitError
from tracekit.sizing.agent.need_torch import require
from tracekit.sizing.network.weights import Model, load_model
from tracekit.sizing.policies import all_sizing_policies, parse_sizing_policy
from tracekit.sizing.policies.ddqn import Ddqn
from tracekit.sizing.policy import SizingPolicy
from tracekit.sizing.world.arrays import CYCLES_SEEN
from tracekit.sizing.world.kernels import CHANNELS
from tracekit.sizing.world.settings import Settings


def read_settings(assume: Sequence[str]) -> Settings:
    """Settings with some values given as ``name=value``."""
    _, given = parameters.split(f"settings[{','.join(assume)}]" if assume else "settings")
    made: Any = parameters.build(Settings, "sizing", given)
    if not isinstance(made, Settings):
        raise TypeError(made)
    return made


def read_model(path: Path | str | None, settings: Settings) -> Model | None:
    """The model of a file, of the shape these settings need; None without a path."""
    if path is None:
        return None
    return load_model(Path(path), channels=CHANNELS, cycles=CYCLES_SEEN, actions=settings.actions)


def choose(texts: Sequence[str], model: Model | None) -> list[SizingPolicy]:
    """The policies of these texts, each once; 'all' are those that can run here."""
    can_train = model is not None or importlib.util.find_spec("torch") is not None
    found: dict[str, SizingPolicy] = {}
    for text in texts:
        if text == "all":
            known = all_sizing_policies()
            every = [known[name]() for name in known if can_train or name != Ddqn.name()]
        else:
            every = [parse_sizing_policy(text)]
        found |= {str(policy): policy for policy in every}
    if not found:
        raise TracekitError(
            "no policy given", hint="--policy all, or tracekit list sizing_policies"
        )
    if not can_train and any(isinstance(policy, Ddqn) for policy in found.values()):
        require("torch", "training the ddqn policy")
    return list(found.values())


def lacks_torch(policies: Sequence[SizingPolicy]) -> bool:
    """Whether the agent is not among the policies because torch is not installed."""
    has_agent = any(isinstance(policy, Ddqn) for policy in policies)
    return not has_agent and importlib.util.find_spec("torch") is None
