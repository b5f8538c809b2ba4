"""Files that share what is slow to make are handed out together, each other one by itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import together

ROOT = Path(__file__).parents[1]


def test_each_group_has_files_and_every_other_file_is_its_own() -> None:
    paths = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/test_*.py")]
    files = Counter(map(together.scope, paths))
    groups = {scope for scope, many in files.items() if many > 1}
    assert groups == set(together._SHARED)
    assert files.keys() - groups <= set(paths)
