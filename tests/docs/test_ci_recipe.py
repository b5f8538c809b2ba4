"""The recipe for a pipeline runs as it stands: its tracekit lines, on a store that is there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml
from docs_support import DOCS, blocks, file_of, typed_commands
from store_support import tiny_store

from tracekit.commands.shell import run


@pytest.mark.slow
def test_the_recipe_runs_and_fails_where_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_store(tmp_path / "made").path.rename(tmp_path / "mystore")
    monkeypatch.chdir(tmp_path)
    recipe = ""
    for language, text in blocks(DOCS / "how-to" / "ci.md"):
        named = file_of(text)
        if language == "yaml" and named:
            recipe = named[1]
        elif named:
            Path(named[0]).write_text(named[1])
        elif language == "sh":
            assert [run(words) for words in typed_commands(text)] == [0]
    steps = yaml.safe_load(recipe)["jobs"]["compare"]["steps"]
    lines = [step["run"] for step in steps if step.get("run", "").startswith("tracekit ")]
    assert len(lines) == 2
    assert [run(shlex.split(line)[1:]) for line in lines] == [0, 0]
    assert Path("junit.xml").read_text().count("<testcase") == 4  # two thresholds, two policies
    assert "<failure" not in Path("junit.xml").read_text()
    assert Path("changes.md").read_text().count("| ok |") == 4
    # the same lines, where the change makes it worse
    settings = Path("tracekit.toml").read_text()
    Path("tracekit.toml").write_text(settings.replace("> 1.02 * base", "> 0.5 * base"))
    assert run(shlex.split(lines[1])[1:]) == 1
