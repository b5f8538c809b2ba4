"""What a disk holds after the power has gone, from the calls that were made before."""

from __future__ import annotations

from pathlib import Path

import pytest
from power_loss import KINDS, Call, Disk


def _calls(root: Path, script: str) -> list[Call]:
    """Calls by their kinds and paths; the inode of a file is its name, a '.' is the folder."""
    made = []
    for one in script.split(","):
        kind, first, other = (*one.split(), "")[:3]
        paths = [f"{root}/{name}".removesuffix("/.") if name else "" for name in (first, other)]
        if kind == "U":
            paths = ["", paths[0]]
        text = b"later" if kind == "W" else b""
        made.append(Call(kind, ord(first), 0, 0, (paths[0], paths[1]), text))
    return made


@pytest.mark.parametrize(
    ("script", "synced", "named", "cached"),
    [
        ("C a,W a", "z=z", "a=,z=z", "a=later,z=z"),
        # renamed too early it may be empty; the folder not synced, the earlier one may be back
        ("C a,W a,R a z", "z=z", "z=", "z=later"),
        ("C a,W a,S a,R a z", "z=z", "z=later", "z=later"),
        ("C a,W a,R a z,S .", "z=", "z=", "z=later"),
        ("C a,W a,S a,R a z,S .", "z=later", "z=later", "z=later"),
        ("U z", "z=z", "", ""),
        ("U z,S .", "", "", ""),
    ],
)
def test_a_disk_has_what_was_synced(
    tmp_path: Path, script: str, synced: str, named: str, cached: str
) -> None:
    (tmp_path / "z").write_bytes(b"z")
    disk = Disk(tmp_path)
    for call in _calls(tmp_path, script):
        disk.apply(call)
    results = [
        ",".join(f"{name}={(content or b'').decode()}" for name, content in disk.image(one).items())
        for one in KINDS
    ]
    assert results == [synced, named, cached]


def test_the_last_write_is_there_by_half(tmp_path: Path) -> None:
    path = tmp_path / "z"
    path.write_bytes(b"earlier")
    torn = Call("W", path.stat().st_ino, 2, 4, (str(path), ""), b"LATE")
    assert Disk(tmp_path).image("synced", torn) == {"z": b"eaLAier"}
