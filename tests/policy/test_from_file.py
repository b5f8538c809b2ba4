"""A user's own policy file: works as any other, is noted in results, and errors teach."""

from __future__ import annotations

import hashlib
import itertools
import json
import pickle
import re
import shlex
import sys
from html import unescape
from pathlib import Path

import pytest
from replay_support import workload
from tests_support import OWN, TraceFolder

from tracekit.base.errors import TracekitError
from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest
from tracekit.policy.entrant import Entrants, files_of, parse_entrant
from tracekit.policy.parse import as_given, by_name, load_own_policy
from tracekit.replay.runs.run import choose_policies, replay

GOOD = '''
"""The emptiest node."""
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.parameters import About
from tracekit.policy.placement import PlacementPolicy


@dataclass(frozen=True, kw_only=True)
class Mine(PlacementPolicy):
    """Prefer the node with the most left."""

    reads: ClassVar = frozenset({"requests"})
    source: ClassVar = "our own idea"

    weight: Annotated[float, About("Weight of memory.", minimum=0)] = 2.0

    def score(self, snapshot, container, nodes):
        left = (snapshot.allocatable - snapshot.requested)[nodes] / 1000
        return left[:, 0] + self.weight * left[:, 1]
'''
SCORE = "return left[:, 0] + self.weight * left[:, 1]"

BROKEN = [
    (GOOD.split("@dataclass", 1)[0], "mine.py"),
    (GOOD + "\n\nclass Other(Mine):\n    pass\n", "mine.py"),
    (GOOD.replace("import numpy", "import numpyy"), "mine.py:6 .*numpyy"),
    (GOOD.replace("return left", "return left left"), "mine.py:23 "),
    (GOOD.replace('    """Prefer the node with the most left."""\n', ""), "policy mine"),
    (GOOD.replace("@dataclass(frozen=True, kw_only=True)", ""), "policy mine"),
    (GOOD.replace('"our own idea"', '""'), "'source'"),
    (GOOD.replace('{"requests"}', '{"reqests"}'), "'reqests'"),
    (GOOD.replace(" = 2.0", ""), "weight"),
    (GOOD.replace("Weight of memory.", "Weight"), "'Weight'"),
    (
        GOOD.replace('Annotated[float, About("Weight of memory.", minimum=0)]', "float"),
        "Mine.weight",
    ),
    (GOOD.replace(SCORE, "return 1.0"), "float"),
    (GOOD.replace(SCORE, "return left[:, 0] > 0"), "bool"),
    (GOOD.replace(SCORE, "return left[:, 0] * np.nan"), "NaN"),
    (GOOD.replace(SCORE, "return left[:, 0] / left[:, 0].sum()"), "mine.py:21"),
    (GOOD.replace(SCORE, "return np.random.random(len(nodes))"), "mine.py:21"),
    (GOOD.replace(SCORE, "snapshot.requested[0] = 0"), "mine.py:23"),
    (GOOD.replace(SCORE, "return snapshot.usage.latest(0)"), "'usage'"),
    (
        GOOD.replace("def score(self, snapshot, container, nodes)", "def score_formula(self)")
        .replace(SCORE, 'return Formula(part=amount, resources=(("cpu", 1),), better="fuller")')
        .replace("        left = (snapshot.allocatable - snapshot.requested)[nodes] / 1000\n", "")
        .replace("import PlacementPolicy", "import Formula, PlacementPolicy")
        + "\n\ndef amount(size, wanted):\n    return wanted\n",
        "better='fuller'",
    ),
]


def written(folder: Path, text: str, name: str = "mine.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_it_decides_as_any_other(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    load = workload([(1000, 1000), (1000, 1000)], [(0, 9000, 100, 10), (0, 9000, 10, 100)])
    chosen = choose_policies(Entrants.of([str(path), f"{path}[weight=0]", "first_fit"]), load)
    run = replay(load, chosen, seed=0)
    assert [str(policy) for policy in chosen] == [
        "mine",
        "mine[weight=0.0]",
        "first_fit",
    ]
    placed = run.placements.filter(run.placements["policy"] == "mine")
    assert placed["node"].to_list() == ["n0", "n1"]


def test_a_file_is_read_anew_where_it_changed_or_the_folder_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = load_own_policy(written(Path(), GOOD))
    assert load_own_policy(Path("mine.py")) is first
    changed = load_own_policy(written(Path(), GOOD.replace("= 2.0", "= 13.0")))
    assert changed().spelled()["weight"] == "13.0"
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    elsewhere = load_own_policy(written(Path(), GOOD.replace("= 2.0", "= 5.5")))
    assert elsewhere().spelled()["weight"] == "5.5"


@pytest.mark.parametrize(("text", "named"), BROKEN, ids=range(len(BROKEN)))
def test_what_is_wrong_is_refused(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(TracekitError, match=named) as error:
        load_own_policy(written(tmp_path, text))
    assert error.value.hint


def test_it_cannot_take_a_built_in_name(tmp_path: Path) -> None:
    with pytest.raises(TracekitError, match="'first_fit'"):
        load_own_policy(written(tmp_path, GOOD, "first_fit.py"))


def test_a_missing_file_and_a_bad_name(tmp_path: Path) -> None:
    with pytest.raises(TracekitError, match=r"none\.py"):
        load_own_policy(tmp_path / "none.py")
    with pytest.raises(TracekitError, match="my-policy"):
        load_own_policy(written(tmp_path, GOOD, "my-policy.py"))


#: What a policy's code may do instead of answering, and what is said of it.
MISDEEDS = [
    ("import sys; sys.exit(0)", "SystemExit"),
    ("import os; os._exit(0)", r"os\._exit"),
    ("import os; os.fork()", r"os\.fork"),
    ("raise BaseException('no')", "BaseException"),
    ("raise GeneratorExit", "GeneratorExit"),
    ("1 / 0", "ZeroDivisionError"),
    ("while True: pass", "0.2 s"),
    ("container.request.flags.writeable = True; container.request[:] = 0",
     r"container\.request"),
    ("object.__setattr__(container, 'request', container.request * 2)",
     r"container\.request"),
    ("nodes.flags.writeable = True; nodes[:] = 0", "nodes"),
    ("return left[:, 0] * np.nan", "NaN"),
    ("return left[:, 0] + np.inf", "inf"),
    ("return left", r"\(\d, 2\)"),
    ("return None", "NoneType"),
    ("return left[:, 0].astype(str)", "float64"),
]  # fmt: skip


@pytest.mark.parametrize("late", [False, True], ids=["at once", "late"])
@pytest.mark.parametrize(("misdeed", "named"), MISDEEDS, ids=[one[:20] for one, _ in MISDEEDS])
def test_whatever_it_does_is_one_error_of_its_file(
    tmp_path: Path, misdeed: str, named: str, late: bool
) -> None:
    """``late``: only after the promises were asked, in the middle of the replay."""
    counted = f"CALLS.append(0)\n        if {'len(CALLS) > 500' if late else 'True'}:"
    limit = 0.2 if "while" in misdeed else 10.0
    text = (
        GOOD.replace(SCORE, f"{counted}\n            {misdeed}\n        {SCORE}")
        .replace('"our own idea"\n', f'"our own idea"\n    limit_s: ClassVar = {limit}\n')
        .replace("import numpy as np\n", "import numpy as np\nCALLS = []\n")
    )
    line = text[: text.index(misdeed)].count("\n") + 1
    path = written(tmp_path, text)
    load = workload([(9000, 9000)] * 3, [(0, 9000, 1, 1)] * 600)
    with pytest.raises(TracekitError, match=named) as error:
        replay(load, choose_policies(Entrants.of([str(path)]), load), seed=0)
    method = text[: text.index("def score")].count("\n") + 1
    assert error.value.what.startswith((f"{path}:{line}: ", f"{path}:{method}: "))
    assert error.value.hint


def test_a_file_that_never_ends_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[load_own_policy.__module__], "IMPORT_LIMIT_S", 0.2)
    text = "while True:\n    try:\n        pass\n    except Exception:\n        pass\n"
    with pytest.raises(TracekitError, match=r"mine\.py"):
        load_own_policy(written(tmp_path, text))


def test_a_broken_promise_comes_out_of_a_worker_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(TracekitError) as error:
        load_own_policy(written(tmp_path, GOOD.replace(SCORE, "return 1.0")))
    again = pickle.loads(pickle.dumps(error.value))  # noqa: S301 - made here
    assert (type(again), again.what, again.hint) == (
        type(error.value),
        error.value.what,
        error.value.hint,
    )


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("mine", "own/mine.py"),
        ("mine[weight=0.5]", "own/mine.py[weight=0.5]"),
        ("mine+load_spread", "own/mine.py+load_spread"),
        ("0.7*mine[weight=2]+0.3*best_fit", "0.7*own/mine.py[weight=2]+0.3*best_fit"),
        ("best_fit[tie=first]", "best_fit[tie=first]"),
        ("scheduler.yaml[tie=first]", "own/scheduler.yaml[tie=first]"),
    ],
)
def test_a_policy_is_spelled_as_it_can_be_run_again(text: str, spelling: str) -> None:
    files = [{"path": path} for path in ("own/mine.py", "own/scheduler.yaml")]
    assert as_given(text, by_name(files)) == spelling
    assert as_given(text, {}) == text


def test_files_are_noted_once_as_seen_from_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    both = [parse_entrant("./mine.py"), parse_entrant("./mine.py[weight=2]+load_spread")]
    digest = hashlib.sha256(OWN.encode()).hexdigest()
    assert files_of(both) == [{"path": "mine.py", "sha256": digest}]
    assert files_of(both, tmp_path / "run") == [{"path": "../mine.py", "sha256": digest}]
    assert files_of([parse_entrant("best_fit")]) == []


def _proposed(text: str) -> list[list[str]]:
    """The commands of a page or of a terminal, in words; lines that go on are one."""
    whole = unescape(text).replace("\\\n", " ")
    lines = re.findall(r"^\s*(tracekit .*)$", whole, re.MULTILINE)
    return [shlex.split(line) for line in lines]


def _policies(command: list[str]) -> list[str]:
    return [after for word, after in itertools.pairwise(command) if word == "--policy"]


@pytest.mark.slow
def test_every_command_of_a_report_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    TraceFolder.written(tmp_path / "trace")
    ingest(tmp_path / "trace", tmp_path / "store")
    own = ["--policy", "./mine.py", "--policy", "./mine.py[weight=0.5]", "--policy", "best_fit"]
    assert run(["replay", "store", *own, "--repeat", "6", "--out", "run"]) == 0
    document = json.loads((tmp_path / "run/manifest.json").read_text())
    digest = hashlib.sha256(OWN.encode()).hexdigest()
    noted = {one["policy"]: one.get("files") for one in document["policies"]}
    assert noted["mine[weight=0.5]"] == [{"path": "../mine.py", "sha256": digest}]
    assert noted["best_fit"] is None
    assert run(["report", "run", "--out", "page.html"]) == 0
    page = (tmp_path / "page.html").read_text()
    commands = _proposed(re.sub(r"<[^>]+>", "\n", page))
    (again,) = [one for one in commands if one[-1] == "again"]
    assert _policies(again) == ["mine.py", "mine.py[weight=0.5]", "best_fit"]
    assert digest in page
    policies = [name for command in commands for name in _policies(command)]
    assert not [name for name in policies if name.startswith("mine") and ".py" not in name]
    assert all(set(policies) >= {"mine.py"} for one in commands if "common" in _policies(one))
    # as printed, from where it is printed
    assert run([*again[1:-1], "again"]) == 0
