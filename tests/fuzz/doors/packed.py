"""Archives whose bytes are damaged: gz, tar, tar.gz, zip, and files that are something else.

What Python's own gzip and tarfile still read whole must go in, with the rows that the rules let pass.
"""

from __future__ import annotations

import gzip
import io
import itertools
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from door import Case, Door
from forks import Done
from mutate import Rng, any_of, mutated_bytes
from tests_support import NODE_HEADER, csv_text, node_lines

from doors._ingest import Fate, ingest_verdict
from doors.csv import fate

_MEMBERS = ["a/Node_0.csv", "Node_1.csv"]


class Packed(Door):
    """One archive at a time."""

    share = 0.127

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """The whole archives."""
        text = csv_text(NODE_HEADER, node_lines()).encode()
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as archive:
            for name in _MEMBERS:
                member = tarfile.TarInfo(name)
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("Node_0.csv", text)
        (folder / "Node_0.csv.gz").write_bytes(gzip.compress(text, mtime=0))
        (folder / "Node_0.tar").write_bytes(tar.getvalue())
        (folder / "Node_0.tar.gz").write_bytes(gzip.compress(tar.getvalue(), mtime=0))
        (folder / "Node_0.zip").write_bytes(packed.getvalue())
        (folder / "Node_0.csv").write_bytes(text)
        return ()

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """One of them, damaged inside its packing or outside."""
        path = any_of(rng, sorted(start.glob("Node_0.*")))
        data = path.read_bytes()
        if path.suffix == ".gz" and rng.random() < 0.5:
            data = _in_members(mutated_bytes(gzip.decompress(data), rng), rng)
        else:
            data = mutated_bytes(data, rng)
        (folder / path.name).write_bytes(data)
        expected = _expected(path.name, data)
        return Case(arguments=("ingest", path.name, "store", "--jobs", "1"), expected=expected)

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """The rows of the input add up, and a whole archive is not refused."""
        if case.expected is not None and done.code != 0:
            return f"refused, but its rows can be read: {done.err[-300:]}"
        return ingest_verdict(case, done, folder / "store")


def _expected(name: str, data: bytes) -> dict[str, Fate] | None:
    """The fate of an archive; None where it cannot be read whole, or holds no table with rows."""
    try:
        texts = [text.decode() for text in _unpacked(name, data)]
    except (OSError, EOFError, zlib.error, tarfile.TarError, UnicodeDecodeError):
        return None
    if not texts or not all(text.startswith(f"{NODE_HEADER}\n") for text in texts):
        return None
    lines = [line for text in texts for line in text.removesuffix("\n").split("\n")[1:]]
    result = fate("Node", "\n".join([NODE_HEADER, *lines]) + "\n")
    return {name: result} if result.read > result.rejected else None


def _unpacked(name: str, data: bytes) -> list[bytes]:
    """The tables in an archive, by Python's own readers; none where members are other ones."""
    if name.endswith(".gz"):
        data = gzip.decompress(data)
    if name.endswith((".csv", ".csv.gz")):
        return [data]
    if not name.endswith((".tar", ".tar.gz")):
        return []
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        results = {member.name: archive.extractfile(member) for member in archive if member.isreg()}
        texts = [file.read() for file in results.values() if file is not None]
        end = archive.offset
    # Python takes a damaged header for the end
    return texts if list(results) == _MEMBERS and not data[end:].strip(b"\0") else []


def _in_members(data: bytes, rng: Rng) -> bytes:
    """The data as a gzip file of one member or of many, as bgzip and pigz write them."""
    many = int(any_of(rng, (1, 1, 2, 30, 3_000)))
    edges = [0, *sorted(rng.integers(0, len(data) + 1, many - 1).tolist()), len(data)]
    members = [gzip.compress(data[low:high], 1, mtime=0) for low, high in itertools.pairwise(edges)]
    if rng.random() < 0.2:
        members[int(rng.integers(len(members)))] = mutated_bytes(members[0], rng)
    return b"".join(members)


PACKED = Packed()
