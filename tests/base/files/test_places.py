"""A place is a path, or a URL; a URL that went through a path is mended."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tracekit.base.errors import TracekitError
from tracekit.base.files.places import found_from, here, is_remote, named_from, place, store_error

needs_upath = pytest.mark.skipif(
    importlib.util.find_spec("upath") is None or importlib.util.find_spec("s3fs") is None,
    reason="universal-pathlib and s3fs are not installed (pip install 'tracekit[s3]')",
)


@pytest.mark.parametrize(
    "path", ["store", "/data/store", "./s3", "C:/store", "a:b", "openb:DIR", "s3:", "s3://"]
)
def test_paths_are_paths(path: str) -> None:
    assert place(path) == Path(path)
    assert not is_remote(place(path))


@needs_upath
@pytest.mark.parametrize("given", ["s3://bucket/store", Path("s3://bucket/store")])
def test_urls_are_places_of_an_object_store(given: str | Path) -> None:
    there = place(given)
    assert is_remote(there)
    assert str(there) == "s3://bucket/store"
    assert place(there) is there
    assert str(there / "tables" / "part.parquet") == "s3://bucket/store/tables/part.parquet"


@needs_upath
@pytest.mark.parametrize("given", ["/data/store", "s3://bucket/store"])
def test_a_document_names_a_place_so_that_it_is_found_again(given: str, tmp_path: Path) -> None:
    named = named_from(tmp_path, place(given))
    assert str(found_from(tmp_path, named).resolve()) == given


@needs_upath
@pytest.mark.parametrize("given", ["s3://bucket/out", Path("s3://bucket/out")])
def test_a_result_has_no_url(given: str | Path) -> None:
    with pytest.raises(TracekitError, match="s3://bucket/out"):
        here(given)
    assert here("out") == Path("out")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError("The specified bucket does not exist"), True),
        (PermissionError("Access Denied"), True),
        (ConnectionError("object-store error: Generic S3 error: HTTP error"), True),
        (PermissionError(13, "Permission denied", "/store"), False),
        (FileNotFoundError(2, "No such file or directory", "/store"), False),
        (ValueError("wrong"), False),
    ],
)
def test_errors_of_the_libraries_are_recognised(error: Exception, *, told: bool) -> None:
    found = store_error(error)
    assert (found is not None) is told
    assert found is None or (str(error) in found.what and found.hint)


def test_what_caused_an_error_is_looked_at_too() -> None:
    outer = RuntimeError("could not read")
    outer.__cause__ = OSError("NoSuchBucket")
    assert store_error(outer) is not None
