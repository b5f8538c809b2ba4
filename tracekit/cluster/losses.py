"""Nodes that are lost at a time: ``--assume lost=3@2h``, by name, by rack or zone, or drawn.

A container on a lost node is evicted and waits for another node. The lost node takes nothing any
more; its background use and daemons are gone with it. Production did not lose these nodes, so its
row is left out.
"""

import dataclasses
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.units import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE, MS_PER_S
from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.on_nodes import all_background
from tracekit.cluster.parts import KINDS, NodeEvents
from tracekit.cluster.series import settled_steps
from tracekit.cluster.workload import Workload

_UNITS = {
    "ms": 1,
    "s": MS_PER_S,
    "m": MS_PER_MINUTE,
    "min": MS_PER_MINUTE,
    "h": MS_PER_HOUR,
    "d": MS_PER_DAY,
}


def span_ms(text: str, *, whole: int, what: str) -> int:
    """Return a span such as ``90s``, ``2h``, ``50%`` or ``1500`` in milliseconds.

    Parameters
    ----------
    whole : int
        The time in milliseconds that 100 % stands for.
    what : str
        The setting that the text is from, for the error.
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|min|m|h|d|%)?\s*", text)
    if not match:
        raise TracekitError(
            f"'{text.strip()}' in {what} is no span of time", hint="for example 90s, 30m, 2h, 50%"
        )
    number, unit = float(match[1]), match[2] or "ms"
    return round(number * whole / 100) if unit == "%" else round(number * _UNITS[unit])


_FORM = "write WHAT@TIME, for example lost=3@2h, lost=zone:b@50%, lost=node-7@90m, commas between"


@dataclass(frozen=True)
class _Loss:
    """The lost nodes as they are written, and the time of the loss after the beginning."""

    what: str
    after_ms: int


def with_losses(load: Workload, text: str, rng: np.random.Generator) -> Workload:
    """Return the workload that loses the nodes in a text, each at its time.

    If the text gives a number of nodes, they are drawn from the nodes that have not left by then.

    Parameters
    ----------
    text : str
        ``WHAT@TIME`` with commas between: WHAT is a node's name, ``rack:``, ``domain:`` or
        ``zone:`` and a name, or a number of nodes; TIME is after the beginning, with a unit or as a
        percentage of the whole.

    Raises
    ------
    TracekitError
        For a text of another form, an unknown node or domain, or a time beyond the end.
    """
    gone: dict[int, int] = {}
    drawn: list[int] = []
    for loss in sorted(_parsed(load, text), key=lambda one: one.after_ms):
        when = int(load.use.times_ms[0]) + loss.after_ms
        some, by_seed = _nodes(load, loss.what, {*gone, *_left_by(load, when)}, rng)
        drawn += some if by_seed else []
        for node in some:
            gone.setdefault(node, when)
    if len(gone) == load.nodes.count:
        raise TracekitError(f"lost={text} takes all {load.nodes.count} nodes", hint="leave some")
    made = without(load, gone, assumed=True)
    assert made.nodes.losses is not None  # noqa: S101 - as some node is gone
    return dataclasses.replace(
        made,
        nodes=dataclasses.replace(
            made.nodes,
            losses=dataclasses.replace(
                made.nodes.losses, drawn=np.isin(made.nodes.losses.node, drawn)
            ),
        ),
        containers=dataclasses.replace(
            made.containers, recorded_node=np.full_like(made.containers.recorded_node, -1)
        ),
        provenance=made.provenance.plus(
            assumptions={"lost": text}, facts={"nodes_lost": len(gone)}
        ),
    )


def _left_by(load: Workload, when_ms: int) -> list[int]:
    """Nodes that have left by this time in production."""
    if load.nodes.losses is None:
        return []
    return [int(node) for node in load.nodes.losses.node[load.nodes.losses.time_ms <= when_ms]]


def _parsed(load: Workload, text: str) -> list[_Loss]:
    whole = int(load.use.times_ms[-1] - load.use.times_ms[0]) + load.use.step_ms
    losses = []
    for part in text.split(","):
        what, at, when = part.strip().rpartition("@")
        if not at or not what.strip():
            raise TracekitError(f"'{part}' in lost={text} is no loss", hint=_FORM)
        after = span_ms(when, whole=whole, what=f"lost={text}")
        if not 0 <= after < whole:
            raise TracekitError(
                f"lost={text} is {after:,} ms after the beginning, the replay lasts {whole:,} ms"
            )
        losses.append(_Loss(what.strip(), after))
    return losses


def _nodes(
    load: Workload, what: str, gone: Collection[int], rng: np.random.Generator
) -> tuple[list[int], bool]:
    """Positions of the nodes that ``what`` names, and whether they were drawn."""
    if what in load.nodes.ids:
        return [load.nodes.ids.index(what)], False
    kind, colon, name = what.partition(":")
    if colon and kind in KINDS:
        none = np.empty(0, np.int64)
        members = none if load.nodes.domains is None else load.nodes.domains.named(kind, name)
        if not len(members):
            raise TracekitError(f"no node of '{load.name}' is in {kind} '{name}'", hint=_FORM)
        return [int(node) for node in members], False
    if not re.fullmatch(r"[1-9][0-9]*", what):
        raise TracekitError(f"'{load.name}' has no node '{what}'", hint=_FORM)
    left = [node for node in range(load.nodes.count) if node not in gone]
    if int(what) >= len(left):
        raise TracekitError(
            f"{what} nodes cannot be lost of the {len(left)} that are there", hint="leave some"
        )
    return [int(node) for node in np.sort(rng.choice(left, int(what), replace=False))], True


def losing_zone(load: Workload, zone: str) -> Workload:
    """Return the workload that loses all nodes of a zone once the cluster is filled.

    The loss is at the first step from ``settled_ms`` on. The containers that run in the zone are
    placed anew. The background (use outside of containers) of the lost nodes continues on the nodes
    that stay, as when nodes are removed.

    Raises
    ------
    TracekitError
        Where no node is in the zone.
    """
    gone, _ = _nodes(load, f"zone:{zone}", (), np.random.default_rng(0))
    since = int(load.use.times_ms[settled_steps(load.use.times_ms, load.use.settled_ms)[0]])
    made = without(load, dict.fromkeys(gone, since), assumed=True)
    staying = np.setdiff1d(np.arange(load.nodes.count), gone)
    if not len(staying):
        return made
    background, after = np.array(made.use.background), np.flatnonzero(load.use.times_ms >= since)
    background[:, after[:, None], staying] = all_background(load, staying)[:, after]
    return dataclasses.replace(made, use=dataclasses.replace(made.use, background=background))


def without(load: Workload, gone: Mapping[int, int], *, assumed: bool = False) -> Workload:
    """Return the workload that loses some nodes, each at its time.

    From then on the node has no background use. Its daemons end, and no container that arrives
    later is pinned to it.

    Parameters
    ----------
    gone : mapping of int to int
        The time of loss in milliseconds by the node's position. A node that the workload loses
        anyway goes at the earlier time.
    assumed : bool
        Whether the loss is assumed, so that production kept the nodes.
    """
    lost_ms: IntArray = np.full(load.nodes.count + 1, np.iinfo(np.int64).max)
    is_assumed: BoolArray = np.zeros(load.nodes.count, np.bool_)
    is_assumed[list(gone)] = assumed
    if load.nodes.losses is not None:
        lost_ms[load.nodes.losses.node] = load.nodes.losses.time_ms
        is_assumed[load.nodes.losses.recorded] = False
    for node, when in gone.items():
        lost_ms[node] = min(lost_ms[node], when)
    losses = _in_order(lost_ms[:-1], is_assumed)
    leaves, returns = (
        None if some is None else some.of(some.time_ms < lost_ms[some.node])
        for some in (load.nodes.leaves, load.nodes.returns)
    )
    background = np.array(load.use.background)
    for node, when in zip(losses.node.tolist(), losses.time_ms.tolist(), strict=True):
        background[:, load.use.times_ms >= when, node] = 0.0
    pinned, departure = load.rules.pinned, load.containers.departure_ms
    staying: BoolArray = np.ones(load.containers.count, dtype=np.bool_)
    if pinned is not None:
        late = load.containers.arrival_ms >= lost_ms[pinned]
        staying = ~(late & load.daemons)
        ends: IntArray = np.where(load.daemons, lost_ms[pinned], np.iinfo(np.int64).max)
        departure = np.where(staying, np.minimum(departure, ends), departure)
        pinned = np.where(late, -1, pinned)
    made = dataclasses.replace(
        load,
        use=dataclasses.replace(load.use, background=background),
        rules=dataclasses.replace(load.rules, pinned=pinned),
        containers=dataclasses.replace(load.containers, departure_ms=departure),
        nodes=dataclasses.replace(load.nodes, losses=losses, leaves=leaves, returns=returns),
    )
    return (
        made
        if staying.all()
        else in_order_of(made, np.flatnonzero(staying), made.containers.arrival_ms)
    )


def _in_order(lost_ms: IntArray, is_assumed: BoolArray) -> NodeEvents:
    """The nodes with a time of loss, shape (nodes,), in the order of these times."""
    gone = np.flatnonzero(lost_ms < np.iinfo(np.int64).max)
    order = gone[np.argsort(lost_ms[gone], kind="stable")]
    return NodeEvents(node=order, time_ms=lost_ms[order], assumed=is_assumed[order])
