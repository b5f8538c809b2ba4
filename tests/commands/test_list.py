"""``tracekit list``: kinds, a kind, one of a kind."""

from __future__ import annotations

import json

import pytest

from tracekit.base.errors import nearest
from tracekit.commands.listing import KINDS
from tracekit.commands.shell import run


def test_without_a_kind_it_counts_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "--json"]) == 0
    counts = {one["name"]: one["count"] for one in json.loads(capsys.readouterr().out)["entries"]}
    assert set(counts) == set(KINDS)
    assert min(counts.values()) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_every_one_of_a_kind_can_be_explained(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["list", kind, "--json"]) == 0
    for entry in json.loads(capsys.readouterr().out)["entries"]:
        assert run(["list", kind, entry["name"]]) == 0
        shown = capsys.readouterr().out
        assert f"name: {entry['name']}" in shown
        assert " ".join(entry["title"].split())[:40] in " ".join(shown.split())


def test_the_beginning_of_a_name_is_more_than_letters_in_another() -> None:
    names = ["lra", "least_allocated", "least_requested", "most_allocated"]
    assert nearest("lea", names) == "least_allocated"
    assert nearest("least_req", names) == "least_requested"
    assert nearest("ls", names) is None
