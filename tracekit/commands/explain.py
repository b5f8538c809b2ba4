"""tracekit explain: explain scheduling decisions from recorded cases."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, overload

import typer

from tracekit.base.errors import CheckFailedError
from tracekit.base.words import counted
from tracekit.commands._options import Argument, Option, Seed
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_sentence, print_table
from tracekit.commands.shell.signature import Call

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
        A file of recorded cases; with ``container`` a store or another workload.
    policy : str, optional
        Needed with ``container``.
    container : str, optional
        The container whose decision is explained; the replay ends there.
    """
    if container is None:
        from tracekit.replay.cases.scoring import parse_case_policy, score_file

        return score_file(Path(case), parse_case_policy(policy) if policy else None)
    return _decision(case, policy, container, seed)


def _decision(replayed: str | Path, policy: str | None, container: str, seed: int) -> Decision:
    from tracekit.base.errors import TracekitError
    from tracekit.base.files.places import place
    from tracekit.cluster.source import source_of
    from tracekit.policy.entrant import parse_entrant
    from tracekit.replay.engine import explain as explaining
    from tracekit.store.folder import open_store

    if policy is None:
        raise TracekitError("--container needs --policy", hint="for example --policy first_fit")
    entrant = parse_entrant(policy)
    is_store = (place(replayed) / "tables").is_dir()
    source = source_of(
        open_store(replayed) if is_store else None,
        None if is_store else replayed,
        seed=seed,
        calls="calls" in entrant.reads,
    )
    return explaining.explain(source.load(), entrant, container, seed=seed)


PANEL = Panel.rare

_NODES_SHOWN = 10


def command(
    call: Call,
    policy: str | None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with what is expected; 1 when it differs.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """Explain recorded scheduling cases, or one decision, by the code of the replay.

    With --container, replay a store or a workload up to that container's decision, and show every
    node's score, its parts, or the filter that removed it.

    Example: tracekit explain case.json --policy 'least_allocated[resources=cpu:1+memory:2]'
    """
    result = call()
    if not isinstance(result, list):
        _show_decision(result, policy, as_json=as_json)
        return
    scored: list[Scored] = result
    if as_json:
        print_json([one.document() for one in scored])
    else:
        for one in scored:
            _show(one)
    if check:
        _check(scored)


def _show_decision(decision: Decision, policy: str | None, *, as_json: bool) -> None:
    """Print one decision of a replay."""
    import dataclasses

    from tracekit.policy.entrant import parse_entrant

    if as_json:
        print_json({"schema": "tracekit/explain/1", **dataclasses.asdict(decision)})
        return
    parts = list(dict.fromkeys(name for node in decision.nodes for name in node.parts))
    scored = [node for node in decision.nodes if node.score is not None]
    shown = parse_entrant(policy or "").placement.shown_score
    print_table(
        f"{decision.container[:12]} of service {decision.service[:12]} at {decision.time_ms:,} ms"
        f" under {decision.policy}: {(decision.chosen or 'waits')[:12]}",
        ["node", "score", *(name.replace("_", " ") for name in parts)],
        [
            [node.node[:12], shown(node.score or 0.0), *map(node.parts.get, parts)]
            for node in scored[:_NODES_SHOWN]
        ],
        note=f"{len(scored):,} of {len(decision.nodes):,} nodes were scored; all of them: --json",
    )
    reasons = Counter(node.removed for node in decision.nodes if node.removed)
    for reason, count in reasons.most_common():
        print_sentence(f"{reason}: {count:,} nodes")


def _show(one: Scored) -> None:
    if one.skipped:
        print(f"{one.name}: skipped, {one.skipped}\n")
    elif one.answer.rows:
        columns = [name.replace("_", " ") for name in one.answer.columns]
        print_table(one.name, columns, one.answer.rows, note=one.answer.note)
        print()
    else:
        answer = ", ".join(f"{key} {_text(value)}" for key, value in one.answer.values.items())
        note = f" ({one.answer.note})" if one.answer.note else ""
        print(f"{one.name}\n  {answer}{note}\n")


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{key} {_text(part)}" for key, part in value.items()) + ")"
    return json.dumps(value) if isinstance(value, bool | None) else str(value)


def _check(scored: list[Scored]) -> None:
    wrong = [f"{one.name}: {text}" for one in scored for text in one.differences]
    skipped = sum(1 for one in scored if one.skipped)
    if wrong:
        cases = len({one.name for one in scored if one.differences})
        raise CheckFailedError(
            f"{cases} of {len(scored)} cases differ from what is expected", details=wrong
        )
    typer.echo(
        f"{len(scored) - skipped} of {counted(len(scored), 'case')} agree, {skipped} skipped",
        err=True,
    )
