"""Tables on a page of 80 columns: a long name ends its lines between its parts."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.commands.shell.output import print_frame, print_table
from tracekit.report.terminal import table


def test_times_and_keys_have_no_separators_between_their_digits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    frame = pl.DataFrame({"time_ms": [43_170_000], "node_key": [12_345], "rows": [4_990_857]})
    print_frame(frame, "table")
    assert capsys.readouterr().out.splitlines()[-3].split() == ["43170000", "12345", "4,990,857"]


def test_a_weighted_profile_is_broken_between_its_parts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A number, or a word, on two lines is another number and no word."""
    name = "0.7*target_load_packing[target=0.25]+0.3*load_variation_risk_balancing"
    heads = ["policy", "cpu max [%]", "nodes", "mem max [%]", "over", "mem strand [%]"]
    print_table("", heads, [[name, *["112.0 ±1.8"] * 3, "1,303 ±2,019", "112.0 ±1.8"]])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    parts = [line[1:].split(" ")[0] for line in lines[3:] if line[1:2].strip()]
    assert "".join(parts).endswith(name)
    for whole in re.findall(r"[a-z]+|[0-9.]+", name):
        assert any(whole in one for one in parts), whole


@pytest.mark.parametrize("rows", [0, 4, 10, 11])
def test_no_more_rows_are_offered_where_all_are_shown(
    rows: int, capsys: pytest.CaptureFixture[str]
) -> None:
    print_frame(pl.DataFrame({f"a_long_column_{at}": [at] * rows for at in range(12)}), "table")
    shown = capsys.readouterr().out
    assert ("--format csv" in shown) == (rows > 10)
    assert str(rows) in shown.splitlines()[-1]


#: Amounts beside a name as wide as a replay's widest policies, of which many place alike.
ALIKE = "bcdi, cmdn, first_fit, first_fit_decreasing, low_risk_overcommitment, peaks, worst_fit"


def test_names_of_policies_that_place_alike_are_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """What an amount may differ by goes below it before a word is cut."""
    heads = ["policy", "cpu max [%]", "nodes", "mem max [%]", "over", "mem strand [%]"]
    amounts = ["17.31 ±0.03", "2.96 ±0.16", "22.0 ±2.8", "0", "0.03 (0 to 0.22)"]
    print_table("two: 12 containers", heads, [[ALIKE, *amounts], ["bes", *amounts]])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    first = [line[1:].split("  ")[0].strip() for line in lines]
    for name in ("overcommitment,", "first_fit,", "worst_fit"):
        assert any(one.endswith(name) for one in first), (name, lines)
    assert len([one for one in first if one and set(one) != {"-"}]) <= 11, lines


@pytest.mark.parametrize("count", [2, 2_000_000])
def test_a_title_is_as_wide_as_the_page(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    """A table that is narrower broke it before its last number."""
    both = f"(CPU {count}, memory {count})"
    title = f"{count} services need more of CPU or memory {both}; the first\u00a010"
    print_table(title, ["service", "count"], [["a", 1]])
    lines = capsys.readouterr().out.splitlines()
    above = lines[: next(at for at, line in enumerate(lines) if line.lstrip().startswith("serv"))]
    texts = [line for line in above if line.strip()]
    assert " ".join(texts) == title.replace("\u00a0", " ")
    assert any(line.endswith("first 10") for line in texts)
    assert len(texts) == (1 if count == 2 else 2)


_CELL = st.one_of(
    st.none(),
    st.integers(-(10**12), 10**12),
    st.floats(-1e9, 1e9, allow_nan=False),
    st.text("abc_-/, ", max_size=120),
)


@given(
    st.integers(1, 9).flatmap(
        lambda many: st.tuples(
            st.lists(st.text("abc ", min_size=1, max_size=30), min_size=many, max_size=many),
            st.lists(st.lists(_CELL, min_size=many, max_size=many), max_size=6),
        )
    )
)
def test_no_table_is_wider_than_a_page(made: tuple[list[str], list[list[Any]]]) -> None:
    heads, rows = made
    lines = table(rows, heads)
    assert all(len(line) <= 80 for line in lines), lines
    shown = "".join("".join(line.split()) for line in lines)
    for column in zip(*rows, strict=True):
        if all(cell is None or isinstance(cell, int) for cell in column):
            assert all(f"{abs(cell):,.0f}" in shown for cell in column if cell is not None)
