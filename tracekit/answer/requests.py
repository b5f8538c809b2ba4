"""The answers of studies of requests, by recorded use and on call chains."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from tracekit.answer.claims.every import claim_facts
from tracekit.answer.claims.experiments import Frame
from tracekit.answer.counts import RESOURCE
from tracekit.answer.production import facts_of_use
from tracekit.base.facts import Answer, Fact, Followup, Scalar, Verdict, answer_of
from tracekit.base.study import Study
from tracekit.base.units import MS_PER_DAY
from tracekit.base.words import short_hash
from tracekit.cluster.requests import NOW, SUBJECT
from tracekit.sizing.measures import Duel, duels
from tracekit.sizing.requests import REPLAYED, SHRUNK
from tracekit.sizing.requests.judge import kept_at_risk
from tracekit.sizing.requests.rows import (
    at_risk,
    by_change,
    changed_of,
    grown,
    is_within_risk,
    measured,
    over_reserved,
    services,
    totals,
)
from tracekit.sizing.study import Study as ChainStudy

#: The number of services that a fact names; the frames have all.
NAMED = 3
#: The unit of amounts of a resource.
_UNIT = {"cpu": "cores", "memory": "bytes"}
#: The shortest record that shows a weekend.
_WEEK_MS = 7 * MS_PER_DAY


def answer_of_requests(study: Study, store: str = "", out: str = "") -> Answer:
    """Return the facts of a study of requests, and commands to go on with.

    Parameters
    ----------
    store, out : str
        The store and the study's folder as commands name them; ``out`` is empty where the study is
        not written.
    """
    named = store or str(study.about["workload"]["store"])
    facts = [
        *facts_of_use(study.about.get("use_over_requested", {})),
        *facts_of_requests(study),
        *_not_covered(study),
        *_left_out(study),
    ]
    return answer_of(facts, _following(named, out, study.about["asked"]))


def facts_of_requests(study: Study) -> list[Fact]:
    """Return the facts of a study of requests under the policy that it chose.

    Facts on use over requests are not among them; see ``facts_of_use``.
    """
    return [
        *_to_change(study),
        *_risk(study),
        *_growing(study),
        *_moved(study),
        *_judged(study),
        *_lacking(study),
    ]


def _to_change(study: Study) -> Iterator[Fact]:
    rows = by_change(study)
    every = services(study)["service"].n_unique()
    cores = rows.filter(resource="cpu")
    yield Fact(
        kind="requests_to_change",
        subject=_names((cores if cores.height else rows)["service"]),
        value=rows["service"].n_unique(),
        unit="services",
        because="" if rows.height else "none",
        about={"of": every, "policy": str(study.about[SUBJECT])},
    )


def _moved(study: Study) -> Iterator[Fact]:
    """The requests of all containers after the change: what is freed, added, and stays reserved."""
    policy = str(study.about[SUBJECT])
    for name in measured(study):
        total, about = totals(study)[name], {"resource": RESOURCE[name]}
        moved = partial(Fact, kind="requests_moved", subject=policy, measure=name, unit=_UNIT[name])
        ends = (total["freed_high"], total["freed_low"])
        low, high = (None if one is None else total["requested_now"] - one for one in ends)
        yield moved(
            value=total["requested"],
            against=total["requested_now"],
            low=low,
            high=high,
            because="in_all",
            about=about,
        )
        for because, each in zip(("freed", "added"), changed_of(study, name), strict=True):
            if len(each):
                yield moved(
                    value=abs(float(each.sum())),
                    because=because,
                    about={**about, "services": len(each)},
                )
        fixed = over_reserved(study).filter(resource=name)
        if fixed.height:
            beyond = (fixed["reserved_then"] - fixed["recommended"]) * fixed["containers"]
            yield moved(
                value=float(beyond.sum()),
                because="fixed",
                rank=3,
                about={**about, "services": fixed.height},
            )


def _risk(study: Study) -> Iterator[Fact]:
    """Services that used more than the recommended request, and how often services did."""
    policy = str(study.about[SUBJECT])
    then, now = totals(study), totals(study, NOW)
    risky, spared = at_risk(study), kept_at_risk(study)
    shares: dict[str, Scalar] = {}
    for name in measured(study):
        shares[f"{name}_above_fraction"] = then[name]["above_share"]
        shares[f"{name}_above_now_fraction"] = now[name]["above_share"]
    within = is_within_risk(study)
    yield Fact(
        kind="requests_risk",
        subject=policy,
        value=risky["service"].n_unique(),
        unit="services",
        because="" if within else "beyond",
        rank=2 if within else 1,
        about={
            "of": services(study)["service"].n_unique(),
            "risk_fraction": float(study.about["risk_share"]),
            **({"services_kept": spared["service"].n_unique()} if spared.height else {}),
            "worst": _names(risky["service"]),
            **shares,
        },
    )
    for name in measured(study):
        if then[name]["beyond_limit_share"]:
            yield Fact(
                kind="requests_risk",
                subject=policy,
                measure=name,
                value=then[name]["beyond_limit_share"],
                unit="fraction",
                against=now[name]["beyond_limit_share"],
                because="limits",
                rank=3,
                about={"resource": RESOURCE[name]},
            )


def _growing(study: Study) -> Iterator[Fact]:
    rows = grown(study)
    if rows.height:
        yield Fact(
            kind="requests_growing",
            subject=_names(rows["service"]),
            value=rows["service"].n_unique(),
            unit="services",
            about={
                "fastest_per_day_fraction": rows["growth_per_day_share"][0],
                "soonest_holds_ms": rows["holds_ms"].min(),  # type: ignore[dict-item]
            },
        )


def _judged(study: Study) -> Iterator[Fact]:
    recorded = study.about["facts"]
    yield Fact(
        kind="requests_judged",
        subject=str(study.about[SUBJECT]),
        value=recorded["judged_ms"],
        unit="ms",
        about={
            "learned_ms": recorded["learned_ms"],
            "windows": recorded["windows"],
            "containers": recorded["containers"],
        },
    )


def _not_covered(study: Study) -> Iterator[Fact]:
    """The caveat of a record whose shorter part shows no weekend."""
    recorded = study.about["facts"]
    shorter = min(recorded["learned_ms"], recorded["judged_ms"])
    if shorter < _WEEK_MS:
        yield Fact(kind="not_covered", value=shorter, unit="ms", because="short_record")


def _lacking(study: Study) -> Iterator[Fact]:
    """How many services lack a request or use, and how many containers never had a node."""
    for because, name in (
        ("no_request", "services_without_request"),
        ("no_past", "services_without_past"),
    ):
        if count := study.about["facts"][name]:
            yield Fact(kind="requests_unknown", value=count, unit="services", because=because)
    if count := study.about["workload"].get("never_ran"):
        yield Fact(kind="requests_unknown", value=count, unit="containers", because="never_ran")


def _left_out(study: Study) -> Iterator[Fact]:
    """Policies that were skipped, as they do not go by use."""
    for one in study.about["left_out"]:
        yield Fact(kind="skipped", subject=one["policy"], because=one["why"], rank=3)


def _names(names: pl.Series) -> str:
    return ", ".join(map(short_hash, names.unique(maintain_order=True).head(NAMED).to_list()))


def _following(store: str, out: str, policies: Sequence[str]) -> Iterator[Followup]:
    """Commands that use the study's folder; without a folder, the command that writes one."""
    given: dict[str, Scalar] = {"STORE": store}
    again = {**given, "policy": policies[0]} if len(policies) == 1 else given
    yield Followup(question="requests_all", command="requests", arguments={**again, "json": True})
    if not out:
        keep = {**again, "out": "studies/requests"}
        yield Followup(question="requests_kept", command="requests", arguments=keep)
        return
    sized = {**given, "assume": f"requests=sized:{out}"}
    nodes = {**sized, "out": str(Path(out).parent / SHRUNK)}
    yield Followup(question="nodes_recommended", command="nodes", arguments=nodes)
    replay = {**sized, "out": f"{out}{REPLAYED}"}
    yield Followup(question="replay_recommended", command="replay", arguments=replay)


# A comparison of sizing policies on call chains.


def answer_of_chains(study: ChainStudy) -> Answer:
    """Return the facts of a study of sizing policies on call chains.

    They say whether the reinforcement learning agent beats the policies used in practice, and
    whether the claims of the paper that describes it hold.
    """
    contests = duels(study.summary, study.differences)
    return answer_of(
        [
            *map(_duel, contests),
            *_measures(contests),
            *claim_facts(_frames(study), ("sizing",)),
            *_network(study),
        ]
    )


def _frames(study: ChainStudy) -> Frame:
    """A function that gives the frames of a study by name, for claims."""
    absent = pl.DataFrame()
    frames = {"size/table": study.table, "size/training": study.training}
    return lambda name: absent if (frame := frames.get(name)) is None else frame


def _outcome(duel: Duel) -> Verdict:
    if duel.beats:
        return "better"
    return "worse" if duel.worse else "same"


def _duel(duel: Duel) -> Fact:
    return Fact(
        kind="agent_against",
        subject=duel.rival,
        measure=next(iter(duel.worse), ""),
        verdict=_outcome(duel),
        about={"agent": duel.agent},
    )


def _measures(duels: list[Duel]) -> Iterator[Fact]:
    for duel in duels:
        for name, (ours, theirs) in duel.means.items():
            verdict: Verdict = (
                "better" if name in duel.better else "worse" if name in duel.worse else "same"
            )
            yield Fact(
                kind="policy_against",
                subject=duel.agent,
                measure=name,
                value=ours,
                unit="fraction",
                against=theirs,
                verdict=verdict,
                about={"other": duel.rival},
            )


def _network(study: ChainStudy) -> Iterator[Fact]:
    """The source of the agent's network; nothing where the study trained it."""
    if study.network:
        yield Fact(
            kind="agent_network",
            subject=str(study.network.get("set", "")),
            value=study.network.get("epochs"),
        )
