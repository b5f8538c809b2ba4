"""A study of changed assumptions in words: what the answer hangs on, and what to do next."""

import shlex
from collections.abc import Mapping, Sequence

import polars as pl

from tracekit.answer.fewest.asked_already import AskedAlready
from tracekit.answer.followed import MORE_ORDERS
from tracekit.answer.sensitivity.answers import (
    BARRED,
    KEPT,
    NOBODY,
    NOTHING,
    SAME,
    TRADE,
    TURNED,
    UNTOLD,
    decided_by,
)
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import find_measure, small
from tracekit.replay.policy.own_files import FILES, as_given, by_name
from tracekit.replay.runs.run import OBSERVED
from tracekit.study import Study, Where, beside
from tracekit.words import agreeing, counted, few, listed

#: So many orders are asked for where six tell nothing.
_MORE = 20
#: The answer that no policy is better.
KEEP = "to keep production"
#: Where nothing can be told under the defaults.
NONE = "not told"


def question(study: Study) -> str:
    """The question of the study."""
    changes = study.frames["changes"].height
    keep = ", or to keep production" if study.about["beside_production"] else ""
    given = study.about.get("assume", ())
    under = f", with {listed(given)} throughout" if given else ""
    return (
        "Does the answer hang on an assumption: which of"
        f" {counted(len(study.about['policies']), 'policy')}"
        f" to choose{keep}{under}? {counted(changes, 'assumption')}"
        f" {'was' if changes == 1 else 'were'} changed, one at a time, each judged as a run is."
    )


def answer(study: Study, *, most: int = 3) -> str:
    """The answer without changes, and what becomes of it under each; else why nothing can be told.

    Counts add up to all changes that were asked for. Of ``most`` changes that turn the answer over
    it is said how.
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
    said = [*_base(study), *_turned(study, most), *_left(study)]
    return " ".join(filter(None, said))


def in_short(study: Study) -> str:
    """How many changes leave the answer as it is, and which turn it over; a sentence."""
    if not study.about["answer"] or not study.frames["changes"]["problem"].null_count():
        return answer(study)
    frame = study.frames["changes"]
    turned = [row["change"] for row in _changes(study, *TURNED)]
    counts = {
        "[leaves|leave] the answer as it is": len(_changes(study, SAME)),
        f"[turns|turn] it over ({few(turned)})": len(turned),
        "[tells|tell] nothing": len(_changes(study, UNTOLD)),
        "[alters|alter] nothing here": len(_changes(study, NOTHING)),
        "could not be replayed": frame.height - frame["problem"].null_count(),
    }
    said = [agreeing(many, what) for what, many in counts.items() if many]
    return f"Of {counted(frame.height, 'changed assumption')} {listed(said)}."


def headline(study: Study) -> str:
    """The answer without changes, how often it stays, and the first change that turns it over."""
    how = [_how(study, row) for row in _changes(study, *TURNED)[:1]]
    return " ".join([*filter(None, _base(study)), *how])


def ranks_told(study: Study) -> bool:
    """Whether ranks tell policies apart at all: with too few orders of arrival all share one."""
    return bool(study.about["repeats"] >= FEWEST)


def _base(study: Study) -> list[str]:
    """The answer without changes, under how many it stays, and who is beside it there."""
    usual, held = subject(study), _changes(study, SAME)
    turned = _changes(study, *TURNED)
    return [
        f"The answer without changes is {usual}.",
        _stays([row["change"] for row in held], study.frames["changes"].height),
        "" if turned else _within_chance(study, held, usual),
    ]


def _stays(held: Sequence[str], of: int) -> str:
    """``It stays under 2 of 3 changes: a=1 and b=1.``; how many there are where it does not."""
    if of == 1:
        return f"It stays under the one change, {held[0]}." if held else ""
    if not held:
        # under one that alters nothing it does not turn over either: 'under none' would be wrong
        return f"{counted(of, 'change')} were tried."
    every = "both changes" if of == 2 else f"all {of} changes"
    under = every if len(held) == of else f"{len(held)} of {of} changes"
    return f"It stays under {under}: {few(held)}."


def _turned(study: Study, most: int) -> list[str]:
    """Under how many changes the answer turns over, and what it is then; or nothing."""
    turned = _changes(study, *TURNED)
    if not turned:
        return []
    one = study.frames["changes"].height == 1
    said = [f"It turns over under {'the one change' if one else len(turned)}."]
    said += [_how(study, row) for row in turned[:most]]
    if more := [row["change"] for row in turned[most:]]:
        said.append(f"{few(more)} {'turns' if len(more) == 1 else 'turn'} it over, too.")
    return said


def _left(study: Study) -> list[str]:
    """The changes that tell nothing, those that alter nothing, and those that were not replayed."""
    silent, same = ([row["change"] for row in _changes(study, how)] for how in (UNTOLD, NOTHING))
    failed = study.frames["changes"].filter(pl.col("problem").is_not_null())["change"].to_list()
    alter = "alters" if len(same) == 1 else "alter"
    return [
        f"Nothing can be told under {len(silent)}: {few(silent)}." if silent else "",
        f"{counted(len(same), 'change')} {alter} nothing here: {few(same)}." if same else "",
        f"{counted(len(failed), 'change')} could not be replayed: {few(failed)}." if failed else "",
    ]


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


def _how(study: Study, row: Mapping[str, str]) -> str:
    """What the answer is under a change that turns it over, a sentence."""
    usual = "production" if keeps(study) else study.about["answer"][0]
    then = f"With {row['change']} "
    if row["stands"] == BARRED:
        known = row["answer"] and row["answer"] != NOBODY
        instead = f"; the answer is {_spelled(row['answer'])}" if known else ""
        return f"{then}{usual} is barred ({row['why']}){instead}."
    if row["stands"] in {KEPT, TRADE}:
        return f"{then}the answer is {_spelled(row['answer'])}: {row['why']}."
    return f"{then}the answer is {row['answer']}, {decided_by(row['decided_by'])}."


def _spelled(found: str) -> str:
    """An answer as it stands after 'the answer is'."""
    return f"to {found}" if found.startswith(KEEP.removeprefix("to ")) else found


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
    unless = f", unless the trade with {trades[0]} is worth it" if trades else ""
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
    return f"{said} Two assumptions changed at a time were not tried."


def following(
    study: Study,
    to: Where | None = None,
    files: Mapping[str, str] | None = None,
    there: AskedAlready | None = None,
) -> list[tuple[str, str]]:
    """The next step, and the command for it; none that ``there`` knows to be asked already.

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
    base = _given(study)
    named = (word for name in about["policies"] for word in ("--policy", as_given(name, own)))
    asked = shlex.join([about["store"], *named])
    if not study.frames["changes"]["problem"].null_count():
        return []
    if not about["answer"] or not _changes(study, *TURNED, SAME):
        more = max(_MORE if about["repeats"] >= FEWEST else FEWEST, FEWEST)
        told = f"{base}{_tried(study)} --measure {about['measure']} --repeat {more} --out"
        out = to(f"assumptions-{more}-orders")
        return [(MORE_ORDERS, f"tracekit sensitivity {asked}{told} {out}")]
    turned = _changes(study, *TURNED)
    if not turned:
        if there is not None and there.shrunk(about["subject"], about, repeats=FEWEST):
            return []
        store, policy = map(shlex.quote, (about["store"], as_given(about["subject"], own)))
        out = to(f"fewest-{about['subject']}")
        command = f"tracekit nodes {store} --policy {policy}{base} --out {out}"
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


def _orders(study: Study) -> str:
    """How many orders of arrival the policies met."""
    orders = study.about["repeats"]
    return "one order" if orders == 1 else counted(orders, "order")


def _title(study: Study) -> str:
    known = find_measure(study.about["measure"])
    title = study.about["measure"] if known is None else known.title
    return small(title)
