"""Containers of one shape in a row: score every node once, then only the node that changed.

The scores are the leaves of a tournament; each match keeps the higher, so that the first of the
best nodes is found from the top, and a change is felt along one path only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.fast.jit import compiled
from tracekit.replay.fast.search import BoolArray, Scorer, Workspace, evaluate, rounded

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

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
def rescore(
    scorer: Scorer,
    state: IntArray,
    ask: IntArray,
    node: int,
    block: IntArray,
    term: FloatArray,
    position: IntArray,
    score: FloatArray,
    matches: FloatArray,
) -> None:
    """Enter the score a node has now; ``block`` to ``score`` are room for one node."""
    fits = True
    for resource in range(state.shape[1]):
        for kind in range(4):
            block[kind, resource, 0] = state[kind, resource, node]
        left = state[0, resource, node] - state[1, resource, node]
        fits &= ask[1, resource] <= 0 or left >= ask[1, resource]
    for at in range(len(term)):
        term[at, 0] = scorer.terms[at, node]
    position[0], score[0] = node, -np.inf
    if fits:
        scorer.score(block, position, 1, term, ask, scorer.parameters, score)
        if scorer.floats:
            rounded(score, 1)
    match = len(matches) // 2 + node
    matches[match] = score[0]
    while match > 1:
        match //= 2
        matches[match] = max(matches[2 * match], matches[2 * match + 1])
