"""What an earlier fetch or somebody else left in the folder is built upon if it is sound."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fetch_support import NODE, Mirror, Take, short_body

from tracekit.base.errors import TracekitError
from tracekit.intake.fetch import Retries


def test_a_killed_fetch_is_resumed_by_the_next(
    take: Take, mirror: Mirror, target: Path, node: bytes, retries: Retries
) -> None:
    mirror.tricks[NODE] = [short_body(500_000)]
    with pytest.raises(TracekitError):
        take(retries=Retries(tries=1))
    part = target.with_name(f".{target.name}.part")
    assert part.read_bytes() == node[:500_000]
    # a kill may leave any length behind
    part.write_bytes(node[:123_456])
    (file,) = take(retries=retries).files
    assert (file.outcome, file.tries) == ("resumed", 1)
    assert mirror.ranges(NODE)[-1] == "bytes=123456-"
    assert target.read_bytes() == node


def test_a_fetch_killed_before_the_renaming_asks_for_nothing(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    take()
    remote = {"length": len(node), "etag": None, "modified": None}
    target.rename(target.with_name(f".{target.name}.part"))
    target.with_name(f".{target.name}.part.json").write_text(json.dumps(remote))
    mirror.requests.clear()
    take()
    assert mirror.requests == []
    assert target.read_bytes() == node


def test_bytes_of_unknown_origin_are_not_built_upon(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    target.parent.mkdir(parents=True)
    target.with_name(f".{target.name}.part").write_bytes(b"x" * 1000)
    take()
    assert mirror.ranges(NODE) == [None]
    assert target.read_bytes() == node


def test_what_is_there_is_not_fetched_again(take: Take, mirror: Mirror) -> None:
    first = take().files[0]
    mirror.requests.clear()
    (file,) = take().files
    assert mirror.requests == []
    assert (file.outcome, file.tries, file.sha256) == ("known", 0, first.sha256)


def test_what_a_call_could_not_clear_away_goes_with_the_next(take: Take, target: Path) -> None:
    take()
    left = target.with_name(f".{target.name}.part.json")
    left.write_text("{}")
    take()
    assert not left.exists()


def test_an_archive_from_elsewhere_is_taken_if_it_is_whole(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    target.parent.mkdir(parents=True)
    target.write_bytes(node)
    assert take().files[0].outcome == "known"
    target.write_bytes(node[:-9])
    assert take().files[0].outcome == "fetched"
    assert target.read_bytes() == node
    assert mirror.ranges(NODE) == [None]
