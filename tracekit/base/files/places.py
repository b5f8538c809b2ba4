"""Places: folders and files of this machine by path, or of an object store by URL.

A place is a ``Path``; for a URL it is a path of universal_pathlib, which behaves alike. Every file
that may be on an object store is opened here. The libraries take credentials, region and endpoint
from the usual environment variables (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, ...) and, except polars,
from the usual files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tracekit.base.errors import TracekitError
from tracekit.base.opened import check_file, open_file

if TYPE_CHECKING:
    import polars as pl
    import pyarrow.parquet as pq

#: A URL; a URL that went through ``Path`` has lost a slash.
_URL = re.compile(r"([a-z][a-z0-9+]+):/{1,2}(?=[^/])")
#: Listings are not cached, because other processes write too. Parquet readers request exactly the
#: bytes that they need, so nothing is read ahead.
_OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {
        "default_cache_type": "none",
        "config_kwargs": {"connect_timeout": 10, "read_timeout": 60},
    }
}
#: A whole file is read in pieces of so many bytes; the next piece loads while one is processed.
PIECE_BYTES = 8 << 20
_PIECES_HELD = 3
#: The head of a file is read in pieces of so many bytes.
_HEAD_BYTES = 128 << 10


def place(where: str | Path) -> Path:
    """Return a path as a Path, and a URL such as ``s3://BUCKET/FOLDER`` as a UPath.

    Raises TracekitError for a malformed URL, and where the library for its protocol is not
    installed.
    """
    url_start = _URL.match(str(where))
    if url_start is None or is_remote(cast("Path", where)):
        return Path(where) if url_start is None else cast("Path", where)
    url = f"{url_start[1]}://{str(where)[url_start.end() :]}"
    try:
        from upath import UPath  # noqa: PLC0415 - optional, and slow to import

        remote = UPath(url, use_listings_cache=False, **_OPTIONS.get(url_start[1], {}))
        assert remote.fs is not None  # noqa: S101 - made when first asked for
    except ImportError as error:
        raise TracekitError(
            f"{url} needs a library that is not installed: {error}",
            hint="pip install 'tracekit[s3]'",
        ) from error
    except ValueError as error:
        raise TracekitError(
            f"{url} is not a place: {error}", hint="write a path, or s3://BUCKET/FOLDER"
        ) from error
    return cast("Path", remote)


def here(where: str | Path) -> Path:
    """Return the path of a result as a Path. Results are always written to this machine.

    Raises TracekitError for a URL.
    """
    url_start = _URL.match(str(where))
    if url_start is not None:
        raise TracekitError(
            f"{url_start[1]}://{str(where)[url_start.end() :]} is a URL, and results are written to"
            " this machine",
            hint="write it here, then copy it there, for example with: aws s3 cp --recursive",
        )
    return Path(where)


def is_remote(where: Path) -> bool:
    """Return whether a path of ``place`` is on an object store."""
    return not isinstance(where, (Path, str))


def named_from(folder: Path, where: Path) -> str:
    """Return the name of a place for a document in ``folder``: a URL, or else a relative path.

    A relative path stays right if the folder and the place move together.
    """
    return str(where) if is_remote(where) else os.path.relpath(where, folder)


def found_from(folder: Path, name: str) -> Path:
    """Return the path that ``named_from`` called ``name`` in a document of ``folder``."""
    return place(name) if _URL.match(name) else folder / name


def filesystem(where: Path) -> Any:
    """Return the fsspec file system of a place on an object store."""
    return cast("Any", where).fs


def snapshot(where: Path) -> Any:
    """Return an fsspec file system that lists a remote folder once and caches the list.

    It is for files that never change, such as those that a store's manifest names.
    """
    uncached = filesystem(where)
    options = {**uncached.storage_options, "use_listings_cache": True, "skip_instance_cache": True}
    cached = type(uncached)(**options)
    cached.find(within(where))
    return cached


def within(where: Path) -> str:
    """Return the path of a place inside the file system of its object store."""
    return str(cast("Any", where).path)


def parquet_file(where: Path) -> pq.ParquetFile:
    """Open a local or remote Parquet file. Only the requested parts are read."""
    import pyarrow as pa  # noqa: PLC0415 - places are asked for before anything is read
    import pyarrow.parquet as pq  # noqa: PLC0415 - same

    try:
        if not is_remote(where):
            check_file(where)
            return pq.ParquetFile(where)
        # what lies side by side comes in one request
        return pq.ParquetFile(within(where), filesystem=filesystem(where), pre_buffer=True)
    except UnicodeDecodeError as error:
        raise pa.ArrowInvalid("the name of a column is not UTF-8 text") from error


def parquet_metadata(where: Path) -> pq.FileMetaData:
    """Return the metadata in the footer of a Parquet file."""
    with parquet_file(where) as file:
        return file.metadata


def scan_parquet(*files: Path) -> pl.LazyFrame:
    """Return Parquet files as one lazy frame. Polars has its own client for object stores."""
    import polars as pl  # noqa: PLC0415 - as above

    for file in files:
        if not is_remote(file):
            check_file(file)
    return pl.scan_parquet([str(file) for file in files], glob=False)


@contextmanager
def open_head(where: Path) -> Iterator[BufferedReader]:
    """Open a local or remote file for reading its first bytes. Close it at the block's end."""
    with _opened(where, block_size=_HEAD_BYTES, cache_type="readahead") as file:
        yield file


@contextmanager
def open_whole(where: Path) -> Iterator[BufferedReader]:
    """Open a local or remote file for reading all bytes in order. Close it at the block's end."""
    blocks = {"maxblocks": _PIECES_HELD}
    with _opened(
        where, block_size=PIECE_BYTES, cache_type="background", cache_options=blocks
    ) as file:
        yield file


def _opened(where: Path, **options: Any) -> BufferedReader:
    if not is_remote(where):
        return open_file(where)
    return cast("BufferedReader", filesystem(where).open(within(where), "rb", **options))


#: Messages of the libraries, their meaning, and the remedy.
_MEANINGS = [
    (
        r"NoCredentials|PartialCredentials|Unable to locate credentials|CredentialsError",
        "the object store wants credentials and there are none",
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    ),
    (
        r"specified bucket does not exist|NoSuchBucket",
        "there is no such bucket",
        "check its name, and AWS_ENDPOINT_URL for a server of your own",
    ),
    (
        r"Access ?Denied|InvalidAccessKeyId|SignatureDoesNotMatch|Forbidden|Access Key Id",
        "the object store refuses these credentials",
        "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the bucket's policy",
    ),
    (
        (
            r"EndpointConnectionError|Could not connect to the endpoint|ConnectTimeout|ReadTimeout"
            r"|Connection was closed|ConnectionClosed|IncompleteRead|ClientPayloadError"
            r"|ServerDisconnected|ResponseStreaming|object-store error: .*HTTP error"
        ),
        "the object store does not answer",
        "check AWS_ENDPOINT_URL and the network; then run the same command again",
    ),
]


def store_error(error: BaseException) -> TracekitError | None:
    """Return a TracekitError that explains an object store library's error; None for another."""
    messages: list[str] = []
    one: BaseException | None = error
    while one is not None and len(messages) < 8:
        kinds = " ".join(kind.__name__ for kind in type(one).__mro__)
        messages.append(f"{kinds}: {one}")
        one = one.__cause__ or one.__context__
    text = "\n".join(messages)
    for pattern, what, hint in _MEANINGS:
        if re.search(pattern, text, re.DOTALL):
            first = next(iter(str(error).splitlines()), type(error).__name__)
            return TracekitError(f"{what}: {first[:200]}", hint=hint)
    return None


@contextmanager
def explained_store_errors() -> Iterator[None]:
    """Turn errors of object store libraries in a ``with`` block into TracekitErrors."""
    try:
        yield
    except TracekitError:
        raise
    except Exception as error:
        meant = store_error(error)
        if meant is None:
            raise
        raise meant from error


# Links in a folder of data: who put them there must not decide where a command writes.


def check_no_link(paths: Iterable[Path]) -> None:
    """Raise TracekitError for the first path that is a link: a write would follow the link."""
    for path in paths:
        if path.is_symlink():
            raise TracekitError(
                f"{path} is a link to {path.readlink()}: nothing is written through it",
                hint="remove it, or put what it leads to in its place",
            )


def written_of_fetch(folder: Path) -> Iterable[Path]:
    """Yield the paths below a folder that ``tracekit fetch`` writes: folders and hidden files."""
    return (one for one in folder.rglob("*") if one.is_dir() or one.name.startswith("."))
