"""The terminal printer: an answer in lines of 80 columns."""

import textwrap
from collections.abc import Iterator

from tracekit.answer.facts import Answer, Fact
from tracekit.report.sentences import command, headline, question, short
from tracekit.shell import in_lines

WIDTH = 80
#: So many lines of facts follow the verdict, and so many commands.
LINES, COMMANDS = 11, 3


def summary(answer: Answer) -> list[str]:
    """The verdict, then the facts of rank 1 by rank; no line is longer than 80 columns.

    The count that the verdict states is not stated again.

    A fact that does not fit the lines that are left is left out whole, and those behind it too.
    """
    if not answer.facts:
        return []
    lines = textwrap.wrap(headline(answer), WIDTH)
    case = answer.facts[0].about.get("case")
    for fact in answer.facts[1:]:
        again = fact.kind == "nodes_needed" and fact.about.get("case") == case
        if fact.weight > 1 or again or not (said := short(fact)):
            continue
        more = textwrap.wrap(said, WIDTH, initial_indent="  ", subsequent_indent="    ")
        if len(lines) + len(more) > LINES:
            break
        lines += more
    return lines


def followups(answer: Answer) -> Iterator[str]:
    """What to do next: each question with its command, in lines that can be copied."""
    for one in answer.next[:COMMANDS]:
        yield question(one)
        yield textwrap.indent(in_lines(command(one), WIDTH - 2), "  ")


def answer_lines(answer: Answer) -> list[str]:
    """The verdict, the facts that matter most, and what to do next."""
    following = list(followups(answer))
    return [*summary(answer), *([""] if following else []), *following]


def lines_of(facts: list[Fact]) -> list[str]:
    """Each fact in a line of its own, wrapped."""
    wrapped = (textwrap.wrap(short(one), WIDTH, subsequent_indent="  ") for one in facts)
    return [line for lines in wrapped for line in lines]
