"""Containers of one shape in a row: score every node once, then only the node that changed.

The scores are the leaves of a tournament; each match keeps the higher, so that the first of the
best nodes is found from the top, and a change is felt along one path only.
"""

from __future__ import annotations

import numpy as np

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.jit import compiled
from tracekit.replay.fast.search import Scorer, Workspace, evaluate, rounded

#: From this many containers of one shape in a row on, a tournament is worth its start.
WORTHWHILE = 16


@compiled
def start(
    scorer: Scorer, state: IntArray, ask: IntArray, blocked: BoolArray, work: Workspace
) -> FloatArray:
    """The tournament over all nodes; nodes without room have lost from the start.

    Returns
    -------
    float64, shape (2 * width,)
        Match ``m`` is played by ``2 m`` and ``2 m + 1``; node ``n`` is entry ``width + n``.
    """
    evaluate(scorer, state, ask, blocked, work)
    width = 1
    while width < state.shape[2]:
        width *= 2
    matches = np.full(2 * width, -np.inf)
    for node in range(state.shape[2]):
        if work.room[node]:
            matches[width + node] = work.scores[node]
    for match in range(width - 1, 0, -1):
        matches[match] = max(matches[2 * match], matches[2 * match + 1])
    return matches


@compiled
def winner(matches: FloatArray) -> int:
    """The first of the best nodes, -1 when none has room."""
    width = len(matches) // 2
    if matches[1] == -np.inf:
        return -1
    match = 1
    while match < width:
        match *= 2
        if matches[match] < matches[1]:
            match += 1
    return match - width


@compiled
def enter(matches: FloatArray, node: int, score: float) -> None:
    """Enter the score a node has now, and replay its matches."""
    match = len(matches) // 2 + node
    matches[match] = score
    while match > 1:
        match //= 2
        matches[match] = max(matches[2 * match], matches[2 * match + 1])


@compiled
def play(
    scorer: Scorer,
    matches: FloatArray,
    state: IntArray,
    containers: IntArray,
    ask: IntArray,
    found: IntArray,
) -> None:
    """Place containers of one shape until all are placed or none has room.

    One piece, for the reason that ``search`` is. ``found`` gets their nodes, -1 for no room.
    """
    score, parameters, terms = scorer.score, scorer.parameters, scorer.terms
    block, term = np.zeros((4, ask.shape[1], 1), np.int64), np.zeros((len(terms), 1))
    position, value = np.zeros(1, np.int64), np.zeros(1)
    for at in range(len(found)):
        node = winner(matches)
        found[at] = node
        if node < 0:
            continue
        containers[node] += 1
        fits = True
        for resource in range(ask.shape[1]):
            block[0, resource, 0] = state[0, resource, node]
            for kind in range(1, 4):
                state[kind, resource, node] += ask[kind, resource]
                block[kind, resource, 0] = state[kind, resource, node]
            left = block[0, resource, 0] - block[1, resource, 0]
            fits &= ask[1, resource] <= 0 or left >= ask[1, resource]
        if scorer.follows:
            scorer.placed(terms, state, node, ask, parameters)
        for row in range(len(terms)):
            term[row, 0] = terms[row, node]
        position[0], value[0] = node, -np.inf
        if fits:
            score(block, position, 1, term, ask, parameters, value)
            if scorer.floats:
                rounded(value, 1)
        enter(matches, node, value[0])
