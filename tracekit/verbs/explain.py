"""Explain scheduling decisions: of recorded cases, or one of a replay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, overload

from tracekit.verbs._options import Argument, Option, Seed

if TYPE_CHECKING:
    from tracekit.replay.cases.scoring import Scored
    from tracekit.replay.engine.explain import Decision


@overload
def explain(case: str | Path, policy: str | None = None, *, seed: int = 0) -> list[Scored]: ...


@overload
def explain(case: str | Path, policy: str | None, container: str, *, seed: int = 0) -> Decision: ...


def explain(
    case: Annotated[
        str | Path,
        Argument(
            "Recorded cases, or what is to be replayed.",
            metavar="CASE.json|STORE|WORKLOAD",
            takes=str,
        ),
    ],
    policy: Annotated[
        str | None,
        Option("Instead of the policy of the file.", metavar="NAME[param=value,...]"),
    ] = None,
    container: Annotated[
        str | None, Option("Explain this container's decision in a replay.", metavar="ID")
    ] = None,
    *,
    seed: Seed = 0,
) -> list[Scored] | Decision:
    """Answer every case of a file, or take one decision of a replay apart.

    See ``tracekit.replay.cases.scoring.score_file`` and ``tracekit.replay.engine.explain``.

    Parameters
    ----------
    case : path or str
        Recorded cases; with ``container`` a store, or what
        ``tracekit.cluster.loaders.load_workload`` understands.
    policy : str, optional
        Needed with ``container``.
    container : str, optional
        The replay goes up to the decision on this container.
    """
    if container is None:
        from tracekit.replay.cases.scoring import score_file

        return score_file(Path(case), policy)
    return _decision(case, policy, container, seed)


def _decision(replayed: str | Path, policy: str | None, container: str, seed: int) -> Decision:
    from tracekit.base.errors import TracekitError
    from tracekit.base.files.places import place
    from tracekit.cluster.source import source_of
    from tracekit.policy.entrant import parse_entrant
    from tracekit.replay.engine import explain as explaining

    if policy is None:
        raise TracekitError("--container needs --policy", hint="for example --policy first_fit")
    entrant = parse_entrant(policy)
    is_store = (place(replayed) / "tables").is_dir()
    source = source_of(
        replayed if is_store else None,
        None if is_store else replayed,
        seed=seed,
        calls="calls" in entrant.reads,
    )
    return explaining.explain(source.load(), entrant, container, seed=seed)
