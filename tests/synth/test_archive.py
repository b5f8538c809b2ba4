"""Archives that are written as they come must read as if their size had been known before."""

from __future__ import annotations

import gzip
import subprocess
import tarfile
from pathlib import Path

import pytest

from tracekit.intake.read.discover import discover
from tracekit.synth.table_file import Archive

SIZES = [0, 1, 511, 512, 513, 8703, 8704, 9215, 9216, 9217, 10240, 300_000]


def written(path: Path, *pieces: bytes, in_folder: bool = False) -> Path:
    archive = Archive(path, name="Node_0", in_folder=in_folder)
    for piece in pieces:
        archive.write(piece)
    archive.finish()
    archive.close()
    return path


@pytest.mark.parametrize("in_folder", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_any_reader_finds_the_text(tmp_path: Path, size: int, *, in_folder: bool) -> None:
    text = (b"0,abc,1.5\n" * (size // 10 + 1))[:size]
    path = written(tmp_path / "a.tar.gz", text[: size // 3], text[size // 3 :], in_folder=in_folder)
    with tarfile.open(path) as tar:
        (info,) = (info for info in tar if info.isfile())
        content = tar.extractfile(info)
        assert content is not None
        assert content.read() == text
        assert info.name == ("Node_0/Node_0.csv" if in_folder else "Node_0.csv")
    unpacked = gzip.decompress(path.read_bytes())
    assert len(unpacked) % tarfile.RECORDSIZE == 0
    assert unpacked.endswith(b"\0" * 1024)


@pytest.mark.parametrize("size", SIZES)
def test_the_usual_programs_have_nothing_to_complain_of(tmp_path: Path, size: int) -> None:
    path = written(tmp_path / "a.tar.gz", b"x" * size)
    for command in (["gzip", "-t", path.name], ["tar", "-xzf", path.name]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stderr == ""
    assert (tmp_path / "Node_0.csv").read_bytes() == b"x" * size


def test_ingest_knows_it(tmp_path: Path) -> None:
    header = b",timestamp,nodeid,node_cpu_usage,node_memory_usage\n"
    written(tmp_path / "a.tar.gz", header)
    assert discover(tmp_path).files[0].kind == "tar.gz"
