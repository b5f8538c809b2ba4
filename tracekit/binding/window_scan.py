"""The search for the free window of vCPUs with the lowest cost.

Only changed sockets are scored again. The score of a window needs no sum over all pairs: a new
instance presses on another one either from its cores or from its socket, and both losses are
computed before the windows are tried.
"""

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.jit import compiled
from tracekit.binding.occupancy import OCCUPANCY, Occupancy, inflation_of

#: Scores that agree to twelve decimals are equal.
TIE = 1e12
#: The lists of free places for windows: by id, by core, or both.
IDS, CORES, BOTH = 1, 2, 3


@compiled
def _before_windows(taken: Occupancy, agg: int, socket: int, cpu: float, request: int) -> float:
    """Write each instance's loss by a newcomer beside it and on its cores; sum if beside all."""
    vcpus = taken.first[socket + 1] - taken.first[socket]
    total = taken.total[socket] + request * cpu
    weight = taken.weight[socket] + request
    whole = 0.0
    for at in range(taken.instances[socket]):
        a = taken.bound[socket, at]
        own = taken.service[a]
        k1, k2, own_cpu, size = (
            taken.k1[own],
            taken.k2[own],
            taken.cpu[own],
            taken.size[a],
        )
        core, core_weight = taken.core[a], taken.core_weight[a]
        taken.apart[at] = inflation_of(
            agg, k1, k2, core, core_weight, total, weight, size, own_cpu, vcpus
        )
        if agg != OCCUPANCY:
            core, core_weight = core + request * cpu, core_weight + request
        taken.together[at] = inflation_of(
            agg, k1, k2, core, core_weight, total, weight, size, own_cpu, vcpus
        )
        whole += size * taken.apart[at]
    return whole


@compiled
def _shared(taken: Occupancy, agg: int, window: IntArray, token: int) -> tuple[float, float]:
    """Count the shared cores of each instance in ``hits``; returns the pressure and its weight."""
    core, weight = 0.0, 0.0
    for at in range(len(window)):
        taken.mark[window[at]] = token
    for at in range(len(window)):
        place = window[at]
        for thread in range(taken.mates.shape[1]):
            mate = taken.mates[place, thread]
            if mate < 0 or taken.mark[mate] == token:
                continue
            other = taken.owner[mate]
            if agg == OCCUPANCY and taken.met[mate] != token:
                taken.met[mate] = token
                weight += 1
                if other >= 0:
                    core += taken.cpu[taken.service[other]]
            if other < 0 or _counted(taken, place, thread, other):
                continue
            slot = taken.slot[other]
            if agg != OCCUPANCY and taken.hits[slot] == 0:
                core += taken.size[other] * taken.cpu[taken.service[other]]
                weight += taken.size[other]
            taken.hits[slot] += 1
    return core, weight


@compiled
def fill(taken: Occupancy, socket: int, by_core: bool, free: IntArray) -> int:
    """Write a socket's free places (vCPUs) into ``free``, and return their number.

    Without ``by_core`` they are ascending. With it, the free places of one core follow each other.
    """
    many = 0
    for at in range(taken.first[socket], taken.first[socket + 1]):
        place = taken.ids[at]
        if taken.owner[place] >= 0 or (by_core and _behind_another(taken, place)):
            continue
        free[many] = place
        many += 1
        if by_core:
            for mate in taken.mates[place]:
                if mate >= 0 and taken.owner[mate] < 0:
                    free[many] = mate
                    many += 1
    return many


@compiled
def _behind_another(taken: Occupancy, place: int) -> bool:
    """Whether a lower place of the same core is free."""
    mates = taken.mates[place]
    behind: bool = np.any((mates >= 0) & (mates < place) & (taken.owner[mates] < 0))
    return behind


@compiled
def _sharing(
    taken: Occupancy, agg: int, socket: int, cpu: float, total: float, weight: float
) -> float:
    """The added loss of instances that share cores with the window, over instances beside it."""
    more = 0.0
    vcpus = taken.first[socket + 1] - taken.first[socket]
    for slot in range(taken.instances[socket]):
        if taken.hits[slot] == 0:
            continue
        a = taken.bound[socket, slot]
        inflation = taken.together[slot]
        if agg == OCCUPANCY:
            own = taken.service[a]
            inflation = inflation_of(
                agg,
                taken.k1[own],
                taken.k2[own],
                taken.core[a] + taken.hits[slot] * cpu,
                taken.core_weight[a],
                total,
                weight,
                taken.size[a],
                taken.cpu[own],
                vcpus,
            )
        more += taken.size[a] * (inflation - taken.apart[slot])
    return more


@compiled
def _counted(taken: Occupancy, place: int, thread: int, other: int) -> bool:
    """Whether an earlier thread of the place's core belongs to the same instance."""
    for earlier in range(thread):
        mate = taken.mates[place, earlier]
        if mate >= 0 and taken.owner[mate] == other:
            return True
    return False


@compiled
def best_window(
    taken: Occupancy,
    agg: int,
    delta: bool,
    step: int,
    candidates: int,
    socket: int,
    service: int,
    request: int,
    free: IntArray,
    tokens: IntArray,
) -> tuple[float, int]:
    """Return the lowest score on a socket for a new instance, and the start of its window.

    A window is ``request`` successive entries of the socket's free places, listed by id or by core.
    The score is the mean loss of the socket's vCPUs with the instance on the window, or the rise of
    this mean if ``delta``. The start is the index of the window's first entry in its list, plus
    ``len(free)`` for the list by core. It is -1 without room. Of equal scores the list by core
    wins, so that an instance alone on a socket takes whole cores.

    Parameters
    ----------
    step : int
        Every step-th window is tried.
    candidates : int
        The lists to try: IDS, CORES or BOTH.
    free : int64, shape (vCPUs of the widest socket,)
        Overwritten with the socket's free places.
    tokens : int64, shape (1,)
        The number of windows tried so far, which is increased.
    """
    best, start = np.inf, -1
    if taken.free[socket] < request:
        return best, start
    if taken.instances[socket] == 0:
        return 0.0, len(free) if candidates & CORES else 0
    cpu, k1, k2 = taken.cpu[service], taken.k1[service], taken.k2[service]
    vcpus = taken.first[socket + 1] - taken.first[socket]
    total = taken.total[socket] + request * cpu
    weight = taken.weight[socket] + request
    whole = _before_windows(taken, agg, socket, cpu, request)
    instances = taken.instances[socket]
    for order in (CORES, IDS):
        if not candidates & order:
            continue
        many = fill(taken, socket, order == CORES, free)
        for at in range(0, many - request + 1, step):
            tokens[0] += 1
            taken.hits[:instances] = 0
            core, core_weight = _shared(taken, agg, free[at : at + request], tokens[0])
            score = whole
            score += _sharing(taken, agg, socket, cpu, total, weight)
            own_felt = inflation_of(
                agg, k1, k2, core, core_weight, total, weight, request, cpu, vcpus
            )
            score = (score + request * own_felt) / vcpus
            if delta:
                score -= taken.now[socket]
            score = np.rint(score * TIE) / TIE
            if score < best:
                best, start = score, at + len(free) * (order == CORES)
    return best, start


@compiled
def decide(
    taken: Occupancy,
    agg: int,
    delta: bool,
    step: int,
    candidates: int,
    service: int,
    request: int,
    apart: bool,
    last_change: int,
    scores: FloatArray,
    starts: IntArray,
    free: IntArray,
    tokens: IntArray,
) -> tuple[int, int]:
    """Return the socket with the lowest score of ``best_window``, and the start of its window.

    Both are -1 without room.

    Parameters
    ----------
    apart : bool
        Whether hosts with an instance of the service are left out.
    last_change : int
        The number of the last bind or unbind before ``scores`` were computed, -1 for none. Only
        sockets that changed later are scored anew.
    scores, starts : float64 and int64, shape (sockets,)
        The latest results of ``best_window`` for this service and request, updated in place.
    """
    best, chosen = np.inf, -1
    for socket in range(len(scores)):
        if taken.touched[socket] > last_change:
            if taken.free[socket] < request:
                scores[socket], starts[socket] = np.inf, -1
            else:
                scores[socket], starts[socket] = best_window(
                    taken, agg, delta, step, candidates, socket, service, request, free, tokens
                )
        if scores[socket] < best:
            if apart and taken.on_host[taken.host[socket], service] > 0:
                continue
            best, chosen = scores[socket], socket
    return chosen, (starts[chosen] if chosen >= 0 else -1)
