"""Inputs of a sizing study: settings, a trained network, policies."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracekit.base import parameters
from tracekit.base.errors import TracekitError
from tracekit.sizing.agent.network import require
from tracekit.sizing.network.weights import Model, load_model
from tracekit.sizing.policies import all_sizing_policies, parse_sizing_policy
from tracekit.sizing.policies.ddqn import Ddqn
from tracekit.sizing.policy import SizingPolicy
from tracekit.sizing.world.periods import CHANNELS
from tracekit.sizing.world.settings import Settings
from tracekit.sizing.world.simset import CYCLES_SEEN

#: The network that comes with tracekit.
SHIPPED = Path(__file__).parent / "network" / "trained.npz"


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


def choose(texts: Sequence[str]) -> list[SizingPolicy]:
    """The policies of these texts, each once; ``all`` are all there are."""
    known = all_sizing_policies()
    each = [
        policy
        for text in texts
        for policy in (
            [kind() for kind in known.values()] if text == "all" else [parse_sizing_policy(text)]
        )
    ]
    if not each:
        raise TracekitError(
            "no policy given", hint="--policy all, or tracekit list sizing_policies"
        )
    return list({str(policy): policy for policy in each}.values())


def shipped_model(settings: Settings) -> Model:
    """The network that comes with tracekit; ``make train`` trained it on the made-up demo."""
    return load_model(SHIPPED, channels=CHANNELS, cycles=CYCLES_SEEN, actions=settings.actions)


def network_for(
    policies: Sequence[SizingPolicy], settings: Settings, path: Path | str | None, *, trained: bool
) -> Model | None:
    """The network of the agents: of a file, else the one that comes with tracekit; None to train.

    An agent whose training is set otherwise, or under other assumptions, is to be trained.

    Parameters
    ----------
    trained : bool
        Whether agents are to be trained in any case.

    Raises
    ------
    TracekitError
        For a file that is no network, and where an agent is to be trained without torch.
    """
    agents = [one for one in policies if isinstance(one, Ddqn)]
    if path is not None or not agents:
        return read_model(path, settings)
    plain = all(replace(one, mask=Ddqn.mask) == Ddqn() for one in agents)
    if plain and settings == Settings() and not trained:
        return shipped_model(settings)
    require("torch", "training the ddqn policy")
    return None
