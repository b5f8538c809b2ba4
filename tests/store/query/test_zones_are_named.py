"""A zone is said to be one of correlation or of availability wherever it may be read alone."""

from __future__ import annotations

import re

import pytest

from tracekit.commands.listing import listing
from tracekit.report.figures import all_figures

#: Two things are called so; letters of correlation zones (zone C) are no riddle beside the name.
BARE = re.compile(r"(?<!correlation )(?<!availability )\bzones?\b(?! [ABCU]\b)", re.IGNORECASE)


def _heads() -> dict[str, list[str]]:
    """What stands alone: titles, and what a column or a parameter means."""
    heads = {
        f"query {one['name']}": [
            one["title"],
            *(part["description"] for part in (*one["params"], *one["columns"])),
        ]
        for one in listing("queries")
    }
    heads |= {f"metric {one['name']}": [one["title"]] for one in listing("metrics")}
    return heads | {
        f"figure {name}": [figure.title, figure.question] for name, figure in all_figures().items()
    }


HEADS = _heads()


@pytest.mark.parametrize("name", [one for one in HEADS if "zone" in " ".join(HEADS[one]).lower()])
def test_a_zone_alone_says_of_what(name: str) -> None:
    assert not [text for text in HEADS[name] if BARE.search(text)]


def test_the_first_words_of_a_description_say_it_too() -> None:
    for one in listing("queries"):
        first = re.search(r"(\w+ )?\bzones?\b", str(one["description"]), re.IGNORECASE)
        about = f"{one['title']} {first[0] if first else ''}".lower()
        assert not first or "correlation zone" in about or "availability zone" in about, one["name"]
