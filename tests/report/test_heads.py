"""What stands over columns: words on every page and in every figure, never a column's own name."""

from __future__ import annotations

import html
import re

import pytest
from report_support import made_up

from tracekit.report.blocks import block
from tracekit.report.figures import all_figures
from tracekit.report.heads import head
from tracekit.report.render import render_data

#: Ends of names that no reader should see; a unit stands in brackets.
_RAW = re.compile(r"_|\b(ms|bytes|fraction|milli|kbit|gb|p\d\d|cv|max|min|std)\b", re.IGNORECASE)


def _plain(text: str) -> bool:
    """Whether a head is words: a capital or a known spelling first, a unit in brackets only."""
    words = re.sub(r"\[[^\]]+\]", "", text)
    return (
        bool(words)
        and not _RAW.search(words)
        and (words[0].isupper() or words[0] in "vr0123456789")
    )


@pytest.mark.slow
def test_every_table_of_every_page_has_words_over_its_columns() -> None:
    said = render_data(made_up())
    found = re.findall(r'<th scope="col"([^>]*)>(.*?)</th>', said, re.DOTALL)
    heads = [
        html.unescape(re.sub(r"<[^>]+>", "", text)).strip()
        for attributes, text in found
        if "id=" not in attributes  # filled by what the reader chooses
    ]
    # those compared
    policies = {"production", "first_fit", "least_allocated", "all nodes", "lra"}
    assert len(heads) > 100
    assert [one for one in heads if not _plain(one) and one not in policies] == []


@pytest.mark.parametrize("name", sorted(all_figures()))
def test_the_table_of_every_figure_has_words_over_its_columns(name: str) -> None:
    shown = block(name, all_figures()[name], made_up()).table
    assert shown is not None
    heads = [column.label for column in shown.columns]
    assert [one for one in heads if not _plain(one)] == []
    assert len(set(heads)) == len(heads)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cpu_max_fraction", "Highest CPU use"),
        ("memory_bytes", "Memory"),
        ("cpu_cores", "CPU [cores]"),
        ("vcpus", "vCPUs"),
        ("overloaded_node_steps", "Overloaded node-steps"),
    ],
)
def test_a_head_follows_from_the_measure_or_the_name(name: str, words: str) -> None:
    assert head(name) == words
