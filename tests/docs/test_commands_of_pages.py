"""Every command of every page, of the README too, is one that tracekit has, with these options.

Pages of sources begin with data that a test has not; the others are run by test_docs.
"""

from __future__ import annotations

import functools
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from click import Context
from docs_support import DOCS

from tracekit.answer.claims.table import all_claims
from tracekit.commands.shell import build_app
from tracekit.policy.entrant import parse_entrant
from tracekit.policy.parse import policies_of
from tracekit.report.sentences import command

ROOT = DOCS.parent
_FENCED = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: How a line of a block may go on behind a command: a comment of its own, after spaces.
_BEHIND = re.compile(r"\s{2,}\S.*$")
#: What a shell puts in itself.
_MADE = re.compile(r"\$\([^)]*\)")
#: Words that end a command for a shell.
_SHELL = ("|", ">", "&&", "<")
PAGES = [*sorted(page for page in DOCS.rglob("*.md") if page.parent.name != "reference")]
PAGES += [ROOT / "README.md"]


def commands(page: Path) -> Iterator[list[str]]:
    """Arguments of every line of a block that begins with tracekit."""
    for block in _FENCED.findall(page.read_text(encoding="utf-8")):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            if line.startswith("tracekit "):
                words = shlex.split(_BEHIND.sub("", _MADE.sub("made", line)), comments=True)[1:]
                yield list(itertools.takewhile(lambda word: word not in _SHELL, words))


ASKED = [(page, words) for page in PAGES for words in commands(page)]
CLAIMS = [shlex.split(command(one.followup))[1:] for one in all_claims().values()]
ASKED += [(ROOT / "reports" / "claims.toml", words) for words in CLAIMS]


@functools.cache
def _command() -> Any:
    return typer.main.get_command(build_app())


def parsed(words: list[str]) -> tuple[dict[str, Any], set[str]]:
    """What the command line reads of the words, and the options that the command has.

    Raises for words that it has not.
    """
    command = _command()
    context = Context(command, info_name="tracekit")
    rest = [word for word in words if word not in ("-q", "--quiet", "--debug")]
    while hasattr(command, "commands"):
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, list(rest), parent=context)
        rest = [*getattr(context, "_protected_args", []), *context.args] or rest
    return dict(context.params), {name for one in command.params for name in one.opts}


@pytest.mark.parametrize(
    ("page", "words"), ASKED, ids=[f"{page.stem}-{at}" for at, (page, _) in enumerate(ASKED)]
)
def test_the_command_line_has_it(page: Path, words: list[str]) -> None:
    del page
    if words == ["--help"] or words[-1] == "--help":
        return
    given, options = parsed(words)
    distinct = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert distinct <= {*options, "--quiet", "--debug"}
    # sizing has policies of its own, which test_docs runs
    names = () if words[0] == "requests" else given.get("policy") or given.get("policies") or ()
    for text in [names] if isinstance(names, str) else names:
        for name in policies_of(text):
            if not re.search(r"\.(ya?ml|json|py)\b", name):
                # what is written is what is replayed
                assert parse_entrant(str(parse_entrant(name))) == parse_entrant(name)


def test_pages_have_commands() -> None:
    assert len(ASKED) > 150


@pytest.mark.parametrize(
    "line", ["tracekit reprt run", "tracekit replay s --polcy a", "tracekit ingest"]
)
def test_what_the_command_line_has_not_is_found(line: str) -> None:
    with pytest.raises(Exception, match=r"(?i)no such|missing|needs|no command|no option|did you"):
        parsed(line.split()[1:])
