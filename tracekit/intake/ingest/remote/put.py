"""Putting objects: a put is seen whole or not at all, and can be made to hang on what is there."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from tracekit.base.files.places import filesystem, within

#: A large file goes up in pieces, so many at once.
_PIECE_BYTES = 16 << 20
_AT_ONCE = 2


class OvertakenError(Exception):
    """Another writer has put the object since it was read."""


def put_file(source: Path, target: Path) -> None:
    """Put a file of this machine; what was there is replaced."""
    options = {"chunksize": _PIECE_BYTES, "max_concurrency": _AT_ONCE} if _is_s3(target) else {}
    filesystem(target).put_file(str(source), within(target), **options)


def get_file(source: Path, target: Path) -> None:
    """Bring an object to this machine."""
    target.parent.mkdir(parents=True, exist_ok=True)
    filesystem(source).get_file(within(source), str(target))


def get_bytes(target: Path) -> bytes | None:
    """The bytes of the object, None where there is none."""
    try:
        data: bytes = filesystem(target).cat_file(within(target))
    except FileNotFoundError as error:
        if "bucket" in str(error).lower() and "exist" in str(error):
            raise
        return None
    return data


def put_over(target: Path, data: bytes, before: bytes | None) -> None:
    """Put an object where ``before`` was put last; None: where there is none.

    A server that knows conditional puts refuses when another writer was quicker. With any other
    server the object is read before and after, which leaves a moment between. Raises
    OvertakenError.
    """
    condition = _condition(target, before)
    if get_bytes(target) != before:
        raise OvertakenError
    try:
        _put(target, data, **condition)
    except OSError:
        # the answer to a put may be lost: then it is told to be refused, and what is there is ours
        if get_bytes(target) != data:
            raise OvertakenError from None
    else:
        if get_bytes(target) != data:
            raise OvertakenError


def delete(target: Path, mine: bytes) -> None:
    """Take an object away if it is still the one that was put."""
    if get_bytes(target) == mine:
        with suppress(FileNotFoundError):
            filesystem(target).rm_file(within(target))


def age_s(target: Path, now_s: float) -> float:
    """How long ago an object was put, by the server's clock and ours."""
    put = filesystem(target).modified(within(target))
    return now_s - float(put.timestamp())


def _put(target: Path, data: bytes, **options: Any) -> None:
    filesystem(target).pipe_file(within(target), data, **options)


def _condition(target: Path, before: bytes | None) -> dict[str, Any]:
    """The condition of a put: the object is still the version whose bytes were read."""
    if before is None:
        return {"mode": "create"}
    if not _is_s3(target):
        return {}
    try:
        return {"IfMatch": filesystem(target).info(within(target))["ETag"]}
    except FileNotFoundError:
        raise OvertakenError from None


def _is_s3(target: Path) -> bool:
    protocol = filesystem(target).protocol
    return "s3" in ((protocol,) if isinstance(protocol, str) else protocol)
