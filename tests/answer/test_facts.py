"""The table of kinds, and the words that printers make of facts by it."""

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.base.facts import (
    Answer,
    Fact,
    Followup,
    answer_of,
    kinds,
    questions,
    read_answer,
    write_document,
)
from tracekit.report.sentences import command, document, long, short


@pytest.mark.parametrize("name", kinds())
def test_every_kind_is_whole(name: str) -> None:
    kind = kinds()[name]
    assert kind.label
    assert kind.meaning.endswith(".")
    assert 0 <= kind.rank <= 3
    for one in (*kind.short.values(), *kind.long.values()):
        assert one
        for sentence in one:
            # the template can be read: braces match
            list(string.Formatter().parse(sentence))


@pytest.mark.parametrize("name", kinds())
def test_a_sentence_with_an_unknown_field_is_left_out(name: str) -> None:
    fact = Fact(kind=name, because=next(iter(kinds()[name].short)))
    assert "None" not in short(fact) + long(fact)
    assert "{" not in short(fact) + long(fact)


@given(
    value=st.one_of(st.integers(0, 10**9), st.floats(0, 1e9), st.none()),
    of=st.integers(0, 10**6),
    requests=st.sampled_from(["recorded", "recommended"]),
)
def test_a_document_is_read_back_as_it_was(value: float | None, of: int, requests: str) -> None:
    fact = Fact(
        kind="nodes_needed",
        subject="default_scheduler",
        value=value,
        unit="nodes",
        about={"of": of, "requests": requests},
    )
    written = fact.document()
    assert written["of"] == of
    assert written["about"]["requests"] == requests
    assert written["value"] == value


def test_an_answer_goes_to_its_file_and_back(tmp_path: Path) -> None:
    made = answer_of(
        [
            Fact(kind="fullest_node", subject="n1", measure="cpu_max_fraction", value=0.5),
            Fact(kind="verdict", because="keep", about={"of": 3}),
        ],
        [
            Followup(
                question="nodes", command="nodes", arguments={"STORE": "s", "limit": ["a <= 1"]}
            )
        ],
    )
    assert [one.kind for one in made.facts] == ["verdict", "fullest_node"]
    write_document(tmp_path, document(made))
    again = read_answer(tmp_path)
    assert again is not None
    assert [one.document() for one in again.facts] == [one.document() for one in made.facts]
    assert again.next == made.next


def test_a_command_repeats_options_and_quotes_values() -> None:
    one = Followup(
        question=next(iter(questions())),
        command="nodes",
        arguments={"STORE": "a store", "limit": ["x <= 1", "y <= 2"], "json": True, "out": None},
    )
    assert command(one) == "tracekit nodes 'a store' --limit 'x <= 1' --limit 'y <= 2' --json"


def test_facts_are_found_by_kind_and_by_what_they_are_about() -> None:
    result = Answer(
        facts=(
            Fact(kind="nodes_needed", value=3, about={"requests": "recorded"}),
            Fact(kind="nodes_needed", value=2, about={"requests": "recommended"}),
        )
    )
    best = result.first("nodes_needed", requests="recommended")
    assert best is not None
    assert best.value == 2
