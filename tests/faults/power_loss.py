"""What a disk holds when the power goes: built from the record of every call of a command.

A disk promises no more than what was synced: bytes of a file by a sync of it, names by a sync of
the folder they stand in. It may hold more, and the last write may be there by half. So of each
moment there are three images:

* ``synced``: only what was synced;
* ``named``: every name, with the bytes that were synced: a file renamed too early is empty;
* ``cached``: all that was written, but for half of the last write.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: An image: what stands at each path below the folder; None is a folder.
Image = dict[str, bytes | None]
KINDS = ("synced", "named", "cached")
#: The number of the moment after the command has ended: what it said was done is on the disk.
ENDED = -1


@dataclass(eq=False)
class _File:
    now: bytearray = field(default_factory=bytearray)
    safe: bytes = b""


@dataclass(eq=False)
class _Folder:
    now: dict[str, _File | _Folder] = field(default_factory=dict)
    safe: dict[str, _File | _Folder] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """One call of the record: see ``failing_calls.c``."""

    kind: str
    inode: int
    offset: int
    size: int
    paths: tuple[str, str]
    content: bytes = b""


def recorded(file: Path) -> Iterator[Call]:
    """The calls of a record, in their order."""
    with file.open("rb") as record:
        while line := record.readline():
            kind, inode, offset, size, paths = line.decode().rstrip("\n").split(" ", 4)
            one, _, two = paths.partition("\t")
            content = record.read(int(size)) if kind == "W" else b""
            yield Call(kind, int(inode), int(offset), int(size), (one, two), content)


class Disk:
    """A folder, all of which is on the disk at first; then calls come."""

    def __init__(self, folder: Path) -> None:
        self._root = str(folder.resolve())
        self._inodes: dict[int, _File] = {}
        self._top = self._loaded(folder)

    def _loaded(self, folder: Path) -> _Folder:
        results: dict[str, _File | _Folder] = {}
        for path in folder.iterdir():
            if path.is_dir():
                results[path.name] = self._loaded(path)
                continue
            content = path.read_bytes()
            made = results[path.name] = _File(bytearray(content), content)
            self._inodes[path.stat().st_ino] = made
        return _Folder(dict(results), dict(results))

    def _at(self, path: str) -> tuple[dict[str, _File | _Folder], str] | None:
        """The names that a path stands among, and its own; None outside of the folder."""
        if not path.startswith(f"{self._root}/"):
            return None
        *above, name = [one for one in path[len(self._root) :].split("/") if one not in ("", ".")]
        folder = self._top
        for one in above:
            inner = folder.now.get(one)
            if not isinstance(inner, _Folder):
                return None
            folder = inner
        return folder.now, name

    def _thing(self, path: str) -> _File | _Folder | None:
        if path == self._root:
            return self._top
        result = self._at(path)
        return None if result is None else result[0].get(result[1])

    def apply(self, call: Call) -> None:
        """Do what the call did."""
        does: dict[str, Callable[[Call], None]] = {
            "C": self._create,
            "W": lambda one: self._write(one, len(one.content)),
            "T": self._truncate,
            "S": self._sync,
        }
        does.get(call.kind, self._name)(call)

    def _create(self, call: Call) -> None:
        result = self._at(call.paths[0])
        if result is None:
            return
        names, name = result
        if not isinstance(names.get(name), _File):
            names[name] = self._inodes[call.inode] = _File()
        del self._inodes[call.inode].now[call.size :]

    def _write(self, call: Call, size: int) -> None:
        if (file := self._inodes.get(call.inode)) is not None:
            _put(file.now, call.offset, call.content[:size])

    def _truncate(self, call: Call) -> None:
        if (file := self._inodes.get(call.inode)) is not None:
            file.now.extend(bytes(max(call.size - len(file.now), 0)))
            del file.now[call.size :]

    def _sync(self, call: Call) -> None:
        thing = self._thing(call.paths[0])
        if isinstance(thing, _Folder):
            thing.safe = dict(thing.now)
        elif (file := self._inodes.get(call.inode)) is not None:
            file.safe = bytes(file.now)

    def _name(self, call: Call) -> None:
        """A name is made, goes, or comes to stand for something else."""
        one, two = (self._at(path) for path in call.paths)
        if two is None:
            return
        names, name = two
        if call.kind == "M":
            names[name] = _Folder()
        elif call.kind == "U":
            names.pop(name, None)
        elif one is not None and call.kind == "X":
            one[0][one[1]], names[name] = names[name], one[0][one[1]]
        elif one is not None:
            names[name] = one[0][one[1]] if call.kind == "L" else one[0].pop(one[1])

    def image(self, kind: str, torn: Call | None = None) -> Image:
        """What is on the disk; the call at hand is a write of which half came through."""
        half = None if torn is None else (self._inodes.get(torn.inode), torn)
        results: Image = {}
        self._fill(results, self._top, "", kind, half)
        return results

    def _fill(
        self,
        result: Image,
        folder: _Folder,
        above: str,
        kind: str,
        half: tuple[_File | None, Call] | None,
    ) -> None:
        names = folder.safe if kind == "synced" else folder.now
        for name, thing in sorted(names.items()):
            if isinstance(thing, _Folder):
                result[f"{above}{name}"] = None
                self._fill(result, thing, f"{above}{name}/", kind, half)
                continue
            content = bytearray(thing.now if kind == "cached" else thing.safe)
            if half is not None and half[0] is thing:
                _put(content, half[1].offset, half[1].content[: len(half[1].content) // 2])
            result[f"{above}{name}"] = bytes(content)


def _put(content: bytearray, offset: int, some: bytes) -> None:
    content.extend(bytes(max(offset - len(content), 0)))
    content[offset : offset + len(some)] = some


def images(disk: Disk, record: Path, work: Path | None) -> Iterator[tuple[int, str, Image]]:
    """Every image that differs from those before: after which call, of which kind.

    The last is what is on the disk when the command has ended.

    Parameters
    ----------
    disk : what was there when the record began; the calls are done to it
    work : what is there now, to compare with: a call that was not seen is an AssertionError
    """
    seen: set[str] = set()
    for number, call in enumerate(recorded(record), 1):
        if call.kind == "W":
            made = [(kind, disk.image(kind, call)) for kind in KINDS]
            disk.apply(call)
        else:
            disk.apply(call)
            made = [(kind, disk.image(kind)) for kind in KINDS]
        for kind, image in made:
            digest = _digest(image)
            if digest not in seen:
                seen.add(digest)
                yield number, kind, image
    yield ENDED, "synced", disk.image("synced")
    if work is None:
        return
    existing = {path.relative_to(work).as_posix(): path for path in work.rglob("*")}
    meant = {name: path.read_bytes() if path.is_file() else None for name, path in existing.items()}
    now = disk.image("cached")
    wrong = sorted(name for name in {*now, *meant} if now.get(name, 0) != meant.get(name, 0))
    assert not wrong, f"calls were not seen: {wrong}"


def _digest(image: Image) -> str:
    result = hashlib.sha256()
    for name, content in image.items():
        result.update(f"{name}\0{content is None}\0{len(content or b'')}\0".encode())
        result.update(content or b"")
    return result.hexdigest()


def put_down(image: Image, folder: Path) -> None:
    """Put an image into an empty folder."""
    for name, content in image.items():
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content)
