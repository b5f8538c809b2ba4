"""A server out of what was asked for: policies, and where nodes, pods and use come from."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tracekit.base.errors import TracekitError
from tracekit.intake.fetch.retry import Retries
from tracekit.intake.fetch.server import Server as Prometheus
from tracekit.intake.fetch.server import address, header
from tracekit.intake.fetch.spans import span_s
from tracekit.live.extender import Extender, check_served
from tracekit.live.feeds import Poll, Watch
from tracekit.live.loaded import load_objects, load_store
from tracekit.live.serve import Server, log
from tracekit.live.shadow import Shadow
from tracekit.live.state import State
from tracekit.live.use import Use
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import PlacementPolicy

_KINDS = ("Node", "Pod")
#: Rates are over no shorter a span.
_RATE_S = 120
_PATIENCE_S = 10.0
#: No policy learns of a sample later than this.
_LATEST_MS = 600_000


def made_server(
    given: Path | None,
    policies: Sequence[str],
    *,
    kubectl: str | None,
    prometheus: str | None,
    headers: Sequence[str],
    step: str,
    max_age: str,
    shadow: Path | None,
) -> Server:
    """The server, with what is known at its start.

    Raises
    ------
    TracekitError
        For a policy that cannot answer, for several without a shadow, and for a wrong source.
    """
    if not policies:
        raise TracekitError("no policy is given", hint="for example --policy least_allocated")
    if len(policies) > 1 and shadow is None:
        raise TracekitError(
            f"{len(policies)} policies are given, and one answers",
            hint="record the others beside it: --shadow FOLDER",
        )
    first, *others = [parse_policy(text) for text in policies]
    for policy in (first, *others):
        check_served(policy)
    step_s = span_s(step, "--step")
    samples = max(_samples(policy, step_s) for policy in (first, *others))
    state = State(Use(most_age_ms=1000 * span_s(max_age, "--max-age"), samples=samples))
    extender = Extender(state=state, policy=first)
    if given is not None and (given / "tables").is_dir():
        if kubectl or prometheus:
            raise TracekitError(
                f"{given} is a record, which ends; a cluster goes on",
                hint="leave the store away, or --kubectl and --prometheus",
            )
        end_s = load_store(state, given, samples)
        extender.clock = lambda: end_s
    elif given is not None:
        load_objects(state, given)
    reads_use = any("usage" in policy.reads for policy in (first, *others))
    kinds = _KINDS if kubectl else ()
    watches = [Watch(kind=one, kubectl=kubectl or "", state=state, log=log) for one in kinds]
    return Server(
        extender=extender,
        shadow=None
        if shadow is None
        else Shadow(folder=shadow, state=state, policy=first, others=others),
        watches=watches,
        poll=_poll(prometheus, headers, step_s, samples, state) if prometheus else None,
        needs_use=reads_use and bool(prometheus),
    )


def _samples(policy: PlacementPolicy, step_s: int) -> int:
    """How many samples reach as far back as the policy looks from its newest one."""
    late_ms = max(now - policy.metric_time_ms(now) for now in range(0, _LATEST_MS, 1000))
    return policy.metric_samples() + late_ms // (1000 * step_s) + 1


def _poll(url: str, headers: Sequence[str], step_s: int, samples: int, state: State) -> Poll:
    server = Prometheus(
        url=address(url),
        headers=dict(header(one) for one in headers),
        timeout_s=_PATIENCE_S,
        retries=Retries(),
        rng=np.random.default_rng(0),
    )
    rate_s = max(_RATE_S, step_s)
    return Poll(server=server, step_s=step_s, rate_s=rate_s, samples=samples, state=state, log=log)
