"""Limits in words: with the title of their measure, as far as their form is plain."""

from __future__ import annotations

import pytest

from tracekit.answer.fewest.words.broken import limit_words

LIMITS = [
    ("cpu_p99_fraction <= 0.8", "CPU use, 99th percentile at most 80.0 %"),
    (
        "cpu_p99_fraction <= max(1, base)",
        "CPU use, 99th percentile at most 100.0 %, or what it is with all nodes",
    ),
    (
        "overloaded_node_steps <= max(15, base)",
        "overloaded node-steps at most 15, or what it is with all nodes",
    ),
    (
        "cpu_p99_fraction <= max(1, base + 0.005)",
        "CPU use, 99th percentile at most 100.0 %, or 0.5 points above what it is with all nodes",
    ),
    ("overloaded_node_steps <= 117", "overloaded node-steps at most 117"),
    ("overloaded_node_steps <= base", "overloaded node-steps no more than with all nodes"),
    (
        "overloaded_node_steps <= base + 15",
        "overloaded node-steps at most 15 more than with all nodes",
    ),
    ("nodes_used_mean < 3 * base", "nodes_used_mean < 3 * base"),
]


@pytest.mark.parametrize(("text", "words"), LIMITS)
def test_limits_in_words(text: str, words: str) -> None:
    assert limit_words(text) == words
