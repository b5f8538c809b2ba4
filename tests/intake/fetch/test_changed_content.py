"""An archive that changes on the server between two tries: no file is made up of both."""

from __future__ import annotations

from pathlib import Path

from fetch_support import NODE, Mirror, Take, archive_bytes, short_body, short_body_then


def test_content_that_changes_between_tries_is_started_over(
    take: Take, mirror: Mirror, target: Path
) -> None:
    other = archive_bytes(650_000, seed=5)
    mirror.tricks[NODE] = [short_body_then(300_000, other)]
    take()
    assert target.read_bytes() == other
    assert mirror.ranges(NODE) == [None, "bytes=300000-"]


def test_content_that_changes_under_a_server_without_tags_is_noticed(
    take: Take, mirror: Mirror, target: Path
) -> None:
    other = archive_bytes(650_000, seed=5)
    mirror.etags[NODE] = None
    mirror.tricks[NODE] = [short_body_then(300_000, other)]
    take()
    assert target.read_bytes() == other
    # the second answer gives another length away; the third request begins anew
    assert mirror.ranges(NODE) == [None, "bytes=300000-", None]


def test_content_of_the_same_length_that_changed_untold_is_found_by_its_checksum(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    other = archive_bytes(700_000, seed=5)[: len(node)].ljust(len(node), b"\0")
    mirror.etags[NODE] = None
    mirror.tricks[NODE] = [lambda h, _: short_body(300_000)(h, other)]
    take()
    assert target.read_bytes() == node
    assert mirror.ranges(NODE) == [None, "bytes=300000-", None]


def test_a_file_that_became_shorter_than_what_is_here(
    take: Take, mirror: Mirror, target: Path
) -> None:
    other = archive_bytes(1000, seed=5)
    mirror.etags[NODE] = None
    mirror.tricks[NODE] = [short_body_then(300_000, other)]
    take()
    assert target.read_bytes() == other


def test_a_weak_tag_is_no_promise_of_the_same_bytes(
    take: Take, mirror: Mirror, target: Path, node: bytes
) -> None:
    mirror.etags[NODE] = 'W/"1"'
    mirror.tricks[NODE] = [short_body(300_000)]
    take()
    assert target.read_bytes() == node
