"""The first sentence of a run where nothing decides, and what a store without load can be asked."""

from __future__ import annotations

import polars as pl
import pytest
from report_support import made_up

from tracekit.answer.advice import sentence
from tracekit.replay.runs.may_wait import MAY_WAIT
from tracekit.report.contents import answer
from tracekit.report.contents.answer.next_steps import following
from tracekit.report.data import Data

HOLD = ("random", "default_scheduler", "bra")


def openb_like(*policies: str) -> Data:
    """Six orders in which those of ``HOLD`` place every container, and others do not."""
    rows = [
        {
            "policy": name,
            "repeat": at,
            "pending": 0.0 if name in HOLD else 40.0,
            "overloaded_node_steps": 0.0,
            "cpu_stranded_share": 0.01 * place,
        }
        for at in range(6)
        for place, name in enumerate(policies)
    ]
    repeats = pl.DataFrame(rows).with_columns(cpu_stranded_share=pl.lit(0.1))
    load = {"nodes": 130, "steps": 1440, "containers": 900, "quantities": {}}
    run = {"workload": load, "repeats_cover": ["order of arrival"]}
    summary = repeats.filter(repeat=0).drop("repeat")
    return Data(run=run, run_frames={"summary": summary, "repeats": repeats})


def said(data: Data) -> str:
    assert data.decision is not None
    assert data.results is not None
    return sentence(data.results, data.decision).replace("\u00a0", " ")


def test_no_name_is_put_forward_where_nothing_tells_those_apart_that_hold_the_load() -> None:
    found = said(openb_like(*HOLD, "tbesk"))
    assert found.startswith("No policy is better than another: 3 of 4 place every container")
    assert "Keep default_scheduler, which clusters run already." in found
    assert found.endswith("The other does not hold the load.")


def test_the_only_one_that_holds_the_load_is_used() -> None:
    assert said(openb_like("bra", "tbesk")).startswith(
        "Use bra: containers left without a node are 0"
    )


def test_a_store_without_use_and_requests_is_not_told_to_be_replayed() -> None:
    tables = {"call": {"rows": 5}}
    absent = {"use of containers": "absent", "requests": "absent", "calls": "recorded"}
    for known, verb in ((absent, "callgraph"), ({**absent, "requests": "recorded"}, "replay")):
        found = answer.answer(Data(info={"tables": tables, "sources": [], "quantities": known}))
        [(_, command)] = found.next
        assert command.startswith(f"tracekit {verb} ")


def _placed_anew(left: float, start: str = "empty") -> Data:
    """Production placed all; default_scheduler leaves some of 900, and is kept or chosen."""
    rows = [
        {
            "policy": name,
            "repeat": at,
            "pending": pending,
            "overloaded_node_steps": 0.0,
            "cpu_stranded_share": stranded + 0.001 * at * (name != "observed"),
        }
        for at in range(6)
        for name, pending, stranded in (
            ("observed", 0.0, 0.8), ("default_scheduler", left, 0.5), ("random", 0.0, 0.9),
        )
    ]  # fmt: skip
    repeats = pl.DataFrame(rows)
    load = {"nodes": 130, "steps": 1440, "containers": 900, "assumptions": {"start": start}}
    load[MAY_WAIT] = 4
    names = ("observed", "default_scheduler", "random")
    policies = [{"policy": name, "name": name} for name in names]
    run = {"workload": {**load, "quantities": {}}, "policies": policies, "seed": 0}
    frames = {"summary": repeats.filter(repeat=0).drop("repeat"), "repeats": repeats}
    return Data(run=run, run_frames=frames)


def test_where_the_named_policy_lets_some_wait_the_start_as_observed_is_next() -> None:
    for data, is_next in (
        (_placed_anew(4.0), True),
        (_placed_anew(0.0), False),
        (_placed_anew(4.0, start="observed"), False),
    ):
        told = data.decision
        assert told is not None
        assert told.chosen[:1] == ("default_scheduler",)
        commands = [command for _, command in following(data, told)]
        assert any(" --start observed " in command for command in commands) is is_next


@pytest.mark.slow
def test_with_too_few_orders_the_next_command_asks_for_as_many_as_the_answer_names() -> None:
    data = made_up()
    data._run_frames["repeats"] = data._run_frames["repeats"].filter(pl.col("repeat") < 3)
    told = answer.answer(data)
    assert "an interval needs 6 (--repeat 6)" in told.sentence
    ((_, command),) = told.next
    assert "--repeat 6 " in command
    assert told.beyond == ""  # nothing can differ beyond chance
