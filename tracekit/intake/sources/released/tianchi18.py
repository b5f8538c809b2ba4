"""Placement problem of the Alibaba Tianchi contest of 2018, set B (headerless CSV in a zip).

Facts: konnase/tianchi, data/preliminary_dataB_20180726.zip.
"""

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from io import BufferedIOBase
from pathlib import Path
from typing import cast

from tracekit.base.errors import TracekitError
from tracekit.intake.sources import ClusterFile, ClusterSource, Head, Opened, Read
from tracekit.intake.sources._described import described
from tracekit.intake.sources._kind import Kind

# The files in a zip, each opened as if it lay beside the others.


#: The first bytes of a member, by which it is recognised.
HEAD_BYTES = 1 << 16
#: What unpacking a damaged, encrypted or strangely packed member raises.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError)


def zipped(path: Path, name: str) -> list[tuple[Head, Opened]]:
    """Return the head and the opened file of each member of a zip, in order of names.

    Raises
    ------
    TracekitError
        When the zip cannot be unpacked.
    """
    members = []
    with unreadable_as_error(name), zipfile.ZipFile(path) as archive:
        for member in sorted(one for one in archive.namelist() if not one.endswith("/")):
            with archive.open(member) as stream:
                head = Head(name=Path(member).name, start=stream.read(HEAD_BYTES))
            stream_of = partial(_member, path, name, member)
            members.append((head, Opened(path=path, name=member, stream=stream_of)))
    return members


def _member(path: Path, name: str, member: str) -> BufferedIOBase:
    """A member of the zip, unpacked while it is read."""
    with unreadable_as_error(name), zipfile.ZipFile(path) as archive:
        return cast("BufferedIOBase", archive.open(member))


@contextmanager
def unreadable_as_error(name: str) -> Iterator[None]:
    """Raise TracekitError for an error of unpacking in the ``with`` block."""
    try:
        yield
    except TracekitError:
        raise
    except (*_UNREADABLE, RuntimeError) as error:  # RuntimeError: it is encrypted
        raise TracekitError(
            f"{name} cannot be unpacked: {error}", hint="it is damaged: fetch it again"
        ) from None


_ZIP = b"PK\x03\x04"
_CURVE = r"-?[\d.]+\|[^,]*"
FILES = described(
    "tianchi18",
    Kind(
        word="machines",
        title="node sizes",
        columns=r"node=machine_\d+ cpu:number memory:gib disk:gib p:number m:number pm:number",
        alone=True,
    ),
    Kind(
        word="instances",
        title="placements",
        columns=r"container=inst_\d+ app=app_\d+ node=(machine_\d+)?",
        beside=("apps", "machines"),
        whole=True,
        alone=True,
    ),
    Kind(
        word="apps",
        title="demand curves",
        columns=rf"app=app_\d+ cpu={_CURVE} memory={_CURVE} disk:gib p:number m:number pm:number",
        beside=("instances",),
        needs={"instances": "ingest it together with instance_deploy"},
        whole=True,
        alone=True,
    ),
    Kind(
        word="rules",
        title="anti-affinity",
        columns=r"holder=app_\d+ guest=app_\d+ most:number=\d+",
        beside=("apps",),
        whole=True,
        alone=True,
    ),
)


def _is_zip(head: Head) -> bool:
    """Whether a file is a zip whose first member is one of the four files."""
    line, _, _ = (_first_member(head.start) or b"").partition(b"\n")
    return bool(line) and _file_of(Head(name=head.name, start=line)) is not None


def _file_of(head: Head) -> ClusterFile | None:
    return next((one for one in FILES if one.recognises(head)), None)


def _read_zip(opened: Opened) -> Read:
    """The rows of all files in a zip; raises TracekitError for two files of one kind."""
    beside: dict[str, tuple[Opened, ...]] = {}
    for head, member in zipped(opened.path, opened.name):
        file = _file_of(head)
        if file is not None and file.word in beside:
            names = f"{beside[file.word][0].name} and {member.name}"
            raise TracekitError(
                f"{opened.name} holds two files of {file.word}: {names}",
                hint="give a folder or zip with one data set",
            )
        if file is not None:
            beside[file.word] = (member,)
    for file in FILES:
        for member in beside.get(file.word, ()):
            yield from file.read(replace(member, beside=beside))


def _first_member(start: bytes) -> bytes | None:
    """The first bytes of the first file in a zip; None for a file that is no readable zip."""
    if not start.startswith(_ZIP) or len(start) < 30:
        return None
    method = int.from_bytes(start[8:10], "little")
    names = int.from_bytes(start[26:28], "little") + int.from_bytes(start[28:30], "little")
    packed = start[30 + names :]
    if method == zipfile.ZIP_STORED:
        return packed[:4096]
    if method != zipfile.ZIP_DEFLATED:
        return None
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, 4096)
    except zlib.error:
        return None


TIANCHI18 = ClusterSource(
    name="tianchi18",
    title="Alibaba Tianchi 2018 set B: 68,224 containers with demand curves, 6,000 nodes",
    url="https://tianchi.aliyun.com/competition/entrance/231663/information",
    lacks=("arrivals", "departures", "requests", "network", "racks and zones", "prices"),
    inferred=(
        "a container asks for the peak of its application's curve",
        "the 98 points of a curve are 15 minutes apart; the release does not say",
        "all containers arrive at 0, in the order of the file",
    ),
    notes=(
        "every container of an application has the same demand",
        "6,970 containers have no recorded node",
        "sizes and demand are taken as cores, GiB of memory and GiB of disk",
        "p, m and pm are kinds of applications that count against a node's own p, m and pm",
    ),
    files=(
        *FILES,
        ClusterFile(
            word="zip",
            title="all of it",
            tables=tuple(table for file in FILES for table in file.tables),
            recognises=_is_zip,
            read=_read_zip,
            alone=True,
        ),
    ),
)
