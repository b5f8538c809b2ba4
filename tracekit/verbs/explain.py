"""Explain one decision of a replay."""

from pathlib import Path

from tracekit.files.places import place
from tracekit.replay.engine import explain as explaining
from tracekit.replay.policy.entrant import parse_entrant
from tracekit.replay.workload.source import source_of


def explain(
    replayed: str | Path, policy: str, container: str, *, seed: int = 0
) -> explaining.Decision:
    """Replay up to a container's decision and take that apart; see ``engine.explain``.

    Parameters
    ----------
    replayed : path or str
        A store, or what ``tracekit.replay.workload.loaders.load_workload`` understands.
    """
    entrant = parse_entrant(policy)
    is_store = (place(replayed) / "tables").is_dir()
    source = source_of(
        replayed if is_store else None,
        None if is_store else replayed,
        seed=seed,
        calls="calls" in entrant.reads,
    )
    return explaining.explain(source.load(), entrant, container, seed=seed)
