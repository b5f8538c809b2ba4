"""A study of changed assumptions in words: what the answer hangs on, and what to do next."""

import shlex
from collections.abc import Mapping, Sequence

import polars as pl

from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import find_measure, small
from tracekit.replay.policy.own_files import FILES, as_given, by_name
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.studies.vary.answers import (
    BARRED,
    KEPT,
    NOTHING,
    SAME,
    TRADE,
    TURNED,
    UNTOLD,
    decided_by,
)
from tracekit.study import Study, Where, beside
from tracekit.words import counted, few, listed

#: So many orders are asked for where six tell nothing.
_MORE = 20
#: The answer that no policy is better.
KEEP = "to keep production"
#: Where nothing can be told under the defaults.
NONE = "not told"
#: So many assumptions are named, more are counted.
_NAMED = 5


def question(study: Study) -> str:
    """The question of the study."""
    changes = study.frames["changes"].height - len(_changes(study, NOTHING))
    keep = ", or to keep production" if study.about["beside_production"] else ""
    given = study.about.get("assume", ())
    under = f", with {listed(given)} throughout" if given else ""
    return (
        "Does the answer hang on an assumption: which of"
        f" {counted(len(study.about['policies']), 'policy')}"
        f" to choose{keep}{under}? {changes} {'was' if changes == 1 else 'were'} changed, one at a"
        f" time, each judged as a run is.{_nothing(study)}"
    )


def _nothing(study: Study) -> str:
    """Which changes leave the workload as it is, a sentence; or nothing."""
    same = [row["change"] for row in _changes(study, NOTHING)]
    if not same:
        return ""
    change = "changes" if len(same) == 1 else "change"
    return f" {len(same)} more {change} nothing in this workload: {listed(same)}."


def answer(study: Study, *, most: int = 3) -> str:
    """Which assumptions the answer hangs on, and how; if nothing can be concluded, that and why.

    Of ``most`` changes that turn it over it is said how.
    """
    if not study.about["answer"]:
        if ranks_told(study):
            return f"Nothing can be told of changed assumptions. {study.about['answer_said']}"
        return (
            f"Nothing can be told of changed assumptions: the policies met {_orders(study)} of"
            f" arrival, {FEWEST} are needed (--repeat {FEWEST})."
        )
    if not study.frames["changes"]["problem"].null_count():
        return (
            "Nothing can be told: no changed assumption could be replayed; the reasons are below."
        )
    usual = subject(study)
    if len(_changes(study, NOTHING)) == study.frames["changes"].height:
        same = listed([row["change"] for row in _changes(study, NOTHING)])
        return f"The answer is {usual}, and hangs on none of these: {same} change nothing here."
    turned, held = _changes(study, *TURNED), _changes(study, SAME)
    open_ = [row["change"] for row in _changes(study, UNTOLD)]
    count = counts(usual, len(held), study)
    said = [
        _hangs_on(study, turned, most, count) if turned else f"{count}.",
        lost(open_, usual) if open_ else "",
        "" if turned else _within_chance(study, held, usual),
        _unaltered(study),
    ]
    return " ".join(filter(None, said))


def ranks_told(study: Study) -> bool:
    """Whether ranks tell policies apart at all: with too few orders of arrival all share one."""
    return bool(study.about["repeats"] >= FEWEST)


def counts(usual: str, held: int, study: Study) -> str:
    """Under how many of the changes that alter the workload the answer stays; a clause."""
    of = sum(1 for row in _changes(study, *TURNED, UNTOLD, SAME))
    return stays(usual, held, of)


def stays(usual: str, held: int, of: int) -> str:
    """``cwt stays the answer under 2 of 3 changes``, of those that alter the workload."""
    first = f"{usual[:1].upper()}{usual[1:]}" if usual.startswith(KEEP) else usual
    if of == 1:
        return f"{first} {'stays' if held else 'does not stay'} the answer under the one change"
    every = "both changes" if of == 2 else f"all {of} changes"
    under = every if held == of else f"{held or 'none'} of {of} changes"
    return f"{first} stays the answer under {under}"


def lost(changes: Sequence[str], usual: str) -> str:
    """Under which changes no answer is left, a sentence."""
    nobody = "nothing can be told" if usual.startswith(KEEP) else "no policy can be told better"
    return f"With {few(changes)} {nobody}."


def _hangs_on(study: Study, turned: Sequence[dict[str, str]], most: int, held: str) -> str:
    """On which assumptions the answer hangs, and what it is then, a sentence."""
    names = list(dict.fromkeys(_name(row["change"]) for row in turned))
    how = [f"with {row['change']} {_turned(study, row)}" for row in turned[:most]]
    more = len(turned) - len(how)
    if more:
        how.append(f"{more} more {'change turns' if more == 1 else 'changes turn'} it over too")
    hangs = _and(names) if len(names) <= _NAMED else _counted(len(names))
    first = f"{held[:1].lower()}{held[1:]}" if held.startswith(KEEP.capitalize()) else held
    return f"The answer hangs on {hangs}: {first}; {'; '.join(how)}."


def _unaltered(study: Study) -> str:
    """How many changes leave the workload as it is, a sentence; or nothing."""
    many = len(_changes(study, NOTHING))
    if not many:
        return ""
    return f"{counted(many, 'other change')} {'alters' if many == 1 else 'alter'} nothing here."


def _within_chance(study: Study, told: Sequence[dict[str, str]], usual: str) -> str:
    """That another policy leads, or stands beside it, within chance, a sentence; or nothing."""
    if usual.startswith(KEEP):
        return ""
    if ahead := [row["change"] for row in told if row["answer"].partition(",")[0] != usual]:
        return f"With {few(ahead)} another leads, within chance."
    beside = [row["change"] for row in told if ", " in row["answer"]]
    others = study.about["answer"][1:]
    if others and len(beside) == len(told):
        return f"It is not told apart from {few(others)}, as assumed or then."
    return f"With {few(beside)} it is not told apart from others." if beside else ""


def _turned(study: Study, row: dict[str, str]) -> str:
    """A clause on the answer under a change."""
    usual = "production" if keeps(study) else study.about["answer"][0]
    if row["stands"] == BARRED:
        return f"{usual} is barred ({row['why']})"
    if row["stands"] in {KEPT, TRADE}:
        return f"it is to {row['answer']}: {row['why']}"
    return f"it is {row['answer']}, {decided_by(row['decided_by'])}"


def outcome(row: Mapping[str, str]) -> str:
    """The answer under a change, in a word or two."""
    if row["stands"] in {SAME, UNTOLD, NOTHING}:
        return str(row["stands"])
    return f"barred: {row['answer']}" if row["stands"] == BARRED else str(row["answer"])


def keeps(study: Study) -> bool:
    """Whether the answer under the defaults is to keep production."""
    return list(study.about["answer"]) == [OBSERVED]


def subject(study: Study) -> str:
    """The answer under the defaults in words; that there is none, where nothing can be told."""
    if not study.about["answer"]:
        return NONE
    trades = study.about.get("trades")
    unless = f", unless the trade with {trades[0]} is worth it," if trades else ""
    return f"{KEEP}{unless}" if keeps(study) else str(study.about["answer"][0])


def sure(study: Study) -> str:
    """The basis of the ranks, and the changes that leave the answer open."""
    if not ranks_told(study):
        return (
            f"Each policy met {_orders(study)} of arrival under each change; {FEWEST} are needed"
            " to tell."
        )
    said = (
        f"Each policy met {_orders(study)} of arrival under each change, and what does"
        " not differ beyond chance is not told apart (95 %, corrected for the number of comparisons"
        f" of these {counted(len(study.about['policies']), 'policy')}: among more of them, as in a"
        " run, less is told apart)."
        f" Ranks by {_title(study)} alone stand beside the answer: who may be chosen at all is"
        " judged by more."
    )
    silent = [row["change"] for row in _changes(study, UNTOLD)]
    if silent and study.about["answer"]:
        said += f" Nothing is told under {few(silent)}."
    return f"{said} Two assumptions changed at a time were not tried."


def following(
    study: Study, to: Where | None = None, files: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """The next step, and the command for it.

    Parameters
    ----------
    to : callable, optional
        Where a study goes, by its name; without it beside the store.
    files : mapping, optional
        Where the files of one's own policies lie, if not where the study found them.
    """
    about = study.about
    to = to or beside(about["store"])
    own = {**by_name(about.get(FILES, ())), **(files or {})}
    asked_of = [as_given(name, own) for name in about["policies"]]
    words = [about["store"], *(word for name in asked_of for word in ("--policy", name))]
    base = _given(study)
    asked = " ".join(map(shlex.quote, words))
    if not study.frames["changes"]["problem"].null_count():
        return []
    if not about["answer"] or not _changes(study, *TURNED, SAME):
        more = max(_MORE if about["repeats"] >= FEWEST else FEWEST, FEWEST)
        told = f"{base}{_tried(study)} --measure {about['measure']} --repeat {more}"
        told += f" --out {to(f'assumptions-{more}-orders')}"
        return [("Let the policies meet more orders of arrival:", f"tracekit vary {asked}{told}")]
    turned = _changes(study, *TURNED)
    if not turned:
        store, policy = map(shlex.quote, (about["store"], as_given(about["subject"], own)))
        out = to(f"fewest-{about['subject']}")
        command = f"tracekit shrink {store} --policy {policy}{base} --out {out}"
        return [(f"See how many nodes are enough under {about['subject']}:", command)]
    first = turned[0]["change"]
    changed = f"{_given(study, first)} --assume {shlex.quote(first)} --out RUN"
    return [(f"See in full what the answer is with {first}:", f"tracekit replay {asked}{changed}")]


def lines(study: Study) -> list[str]:
    """All of it in sentences, the answer first, as on the terminal."""
    failed = [f"Not replayed: {said}." for said in problems(study)]
    return [answer(study), question(study), sure(study), *failed]


def problems(study: Study) -> list[str]:
    """The changes that could not be replayed, each with the reason."""
    failed = study.frames["changes"].filter(pl.col("problem").is_not_null())
    return [f"{row['change']}: {row['problem']}" for row in failed.to_dicts()]


def _given(study: Study, but: str = "") -> str:
    """What was assumed under each change, as options; ``but`` for the name of this change."""
    asked = [one for one in study.about.get("assume", ()) if _name(one) != _name(but)]
    return "".join(f" --assume {shlex.quote(one)}" for one in asked)


def _tried(study: Study) -> str:
    """The changes that were asked for and can be replayed, as options; none of the usual ones."""
    failed = study.frames["changes"].filter(pl.col("problem").is_not_null())["change"].to_list()
    asked = [one for one in study.about.get("changes", ()) if one not in failed]
    return "".join(f" --change {shlex.quote(change)}" for change in asked)


def _changes(study: Study, *stands: str) -> list[dict[str, str]]:
    return study.frames["changes"].filter(pl.col("stands").is_in(stands)).to_dicts()


def _name(change: str) -> str:
    return change.partition("=")[0]


def _counted(many: int) -> str:
    return "1 assumption" if many == 1 else f"{many} assumptions"


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _orders(study: Study) -> str:
    """How many orders of arrival the policies met."""
    orders = study.about["repeats"]
    return "one order" if orders == 1 else counted(orders, "order")


def _title(study: Study) -> str:
    known = find_measure(study.about["measure"])
    title = study.about["measure"] if known is None else known.title
    return small(title)
