"""Damage to a folder that tracekit wrote: one of its files gone, cut, changed, or another's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from mutate import Rng, any_of, mutated_bytes, mutated_json


def damage(folder: Path, rng: Rng) -> str:
    """Damage one file of the folder; returns its name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    documents = [path for path in files if path.suffix == ".json"]
    path: Path = any_of(rng, documents) if documents and rng.random() < 0.4 else any_of(rng, files)
    how = int(rng.integers(6))
    if how == 0:
        path.unlink()
    elif how == 1:
        path.write_bytes(b"")
    elif how == 2:
        shutil.copyfile(any_of(rng, files), folder / ".copy")
        (folder / ".copy").replace(path)
    elif how == 3 and path.suffix == ".json":
        path.write_text(json.dumps(mutated_json(json.loads(path.read_text()), rng)))
    else:
        path.write_bytes(mutated_bytes(path.read_bytes(), rng))
    return path.relative_to(folder).as_posix()
