"""An entrant of a replay: a placement policy, alone or with others behind it.

Spelled ``NAME[param=value,...]``, ``NAME[...]+REBALANCER[...]`` or ``NAME[...]+schedulers[...]``;
in place of ``NAME`` a profile, ``0.7*NAME+0.3*NAME``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

from tracekit.base import parameters
from tracekit.base.documents import is_document
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.policy.parse import cut, parse_policy, policies_of
from tracekit.policy.placement import Parametrised, PlacementPolicy, Reads, UsedBy
from tracekit.policy.placement.interference import Interference
from tracekit.policy.profile import Profile, weighted
from tracekit.policy.rebalance import RebalancePolicy, build_rebalancer, get_rebalancer
from tracekit.policy.rebalance._descheduler_file import descheduler

#: What clusters run already: to keep it costs nobody anything.
USUAL = "default_scheduler"


def parse_rebalancer(text: str) -> RebalancePolicy:
    """The policy that ``NAME[param=value,...]`` spells, or a ``DeschedulerPolicy`` in a file.

    ``str`` of it is the same text again, of a file without its folder.
    """
    name, given = parameters.split(text)
    if is_document(name):
        return descheduler(Path(name), given)
    return build_rebalancer(get_rebalancer(name), given)


@dataclass(frozen=True)
class Accompanied:
    """A placement policy with what is behind it.

    Parameters
    ----------
    rebalance : RebalancePolicy, optional
        Who evicts once per interval; what is evicted the policy places again.
    schedulers : Schedulers, optional
        Several that place by the policy, each on a view of its own; None for one.
    """

    placement: PlacementPolicy
    rebalance: RebalancePolicy | None = None
    schedulers: Schedulers | None = None

    @property
    def reads(self) -> frozenset[Reads]:
        """The data that the placement policy reads."""
        return self.placement.reads

    @property
    def filtered(self) -> bool:
        """Whether only nodes with room are offered."""
        return self.placement.filtered

    @property
    def wants(self) -> tuple[str, ...]:
        """Further resources that the placement policy looks at."""
        return self.placement.wants

    @property
    def source(self) -> str:
        """The sources of all parts."""
        return "; ".join(one.source for one in self.parts)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for a reader of its results."""
        return tuple(note for one in self.parts for note in one.notes)

    @property
    def used_by(self) -> UsedBy:
        """Who runs the placement policy; several schedulers only serve to compare."""
        return self.placement.used_by if self.schedulers is None else "yardstick"

    @property
    def file(self) -> str | None:
        """The file of a user's own placement policy."""
        return self.placement.file

    @property
    def behind(self) -> tuple[RebalancePolicy | Schedulers, ...]:
        """What is behind the placement policy."""
        return tuple(one for one in (self.rebalance, self.schedulers) if one is not None)

    @property
    def parts(self) -> tuple[PlacementPolicy | RebalancePolicy | Schedulers, ...]:
        """The placement policy, and what is behind it."""
        return (self.placement, *self.behind)

    def spelled(self) -> Mapping[str, str]:
        """Every parameter with its value as text; those behind the policy under a name, a dot."""
        own = dict(self.placement.spelled())
        for one in self.behind:
            own |= {f"{one.name()}.{name}": value for name, value in one.spelled().items()}
        return own

    def spelled_out(self) -> str:
        """All parameters in one text, as the summary has them."""
        return "+".join(one.spelled_out() for one in self.parts)

    def written_in(self) -> tuple[str, ...]:
        """The files that say what all do, where these are a user's own."""
        return tuple(file for one in self.parts for file in one.written_in())

    def name(self) -> str:
        """All names."""
        return "+".join(one.name() for one in self.parts)

    def address(self) -> str:
        """All as ``parse_entrant`` reads them in any process."""
        return "+".join(one.address() for one in self.parts)

    def __str__(self) -> str:
        return "+".join(map(str, self.parts))


Entrant = PlacementPolicy | Accompanied


def parse_entrant(text: str) -> Entrant:
    """The entrant that a text spells; ``str`` of it is the same text again.

    Raises TracekitError for an unknown name or parameter, or for production with a rebalancer.
    """
    placement, behind = cut(text)
    if behind is None:
        return parse_policy(placement)
    name, given = parameters.split(behind)
    if name == Schedulers.name():
        return with_schedulers(parse_entrant(placement), parameters.build(Schedulers, name, given))
    policy = parse_policy(placement)
    try:
        return rebalanced(policy, parse_rebalancer(behind))
    except TracekitError as error:
        raise _two_policies(placement, behind) or error from None


@dataclass(frozen=True)
class Sent:
    """An entrant on its way to another process, which reads it again by its address.

    The class of a policy may be of a user's file, which only its address names.
    """

    entrant: Entrant

    def __reduce__(self) -> tuple[Callable[[str], Sent], tuple[str]]:
        return _arrived, (self.entrant.address(),)


def _arrived(address: str) -> Sent:
    return Sent(parse_entrant(address))


@dataclass(frozen=True)
class Entrants:
    """The entrants that a caller chose, each once and in order.

    Parameters
    ----------
    chosen : tuple of Entrant
    named : tuple of Entrant
        Entrants that the caller spelled; ``all`` and ``common`` name none.
    files : tuple of Entrant
        Entrants that a scheduler's configuration spells.
    words : bool
        Whether ``all`` or ``common`` is among what the caller wrote.
    """

    chosen: tuple[Entrant, ...] = ()
    named: tuple[Entrant, ...] = ()
    files: tuple[Entrant, ...] = ()
    words: bool = False

    @classmethod
    def of(cls, texts: Iterable[str]) -> Entrants:
        """The entrants that texts spell.

        Raises
        ------
        TracekitError
            For an unknown name, with one that is near, and for a wrong parameter.
        """
        chosen: dict[str, Entrant] = {}
        named: dict[str, Entrant] = {}
        files: list[Entrant] = []
        words = False
        for text in texts:
            every = policies_of(text)
            entrants = {str(one): one for one in map(parse_entrant, every)}
            chosen |= {name: one for name, one in entrants.items() if name not in chosen}
            if every == [text]:
                named |= {name: one for name, one in entrants.items() if name not in named}
            else:
                words = True
            if is_document(parameters.split(text)[0]):
                files += entrants.values()
        return cls(tuple(chosen.values()), tuple(named.values()), tuple(files), words)

    @property
    def in_use(self) -> Entrant:
        """The entrant for production's scheduler: the configuration given, else the usual one."""
        return self.files[0] if self.files else parse_entrant(USUAL)

    @property
    def names(self) -> tuple[str, ...]:
        """The spellings of the named entrants."""
        return tuple(map(str, self.named))

    @property
    def reads_calls(self) -> bool:
        """Whether an entrant needs the calls between services."""
        return any("calls" in one.reads for one in self.chosen)

    def placing_by(self, fit: Path, *, unasked: bool) -> Entrants:
        """The entrants, with this fit in those that ask for one: see ``with_fit``."""
        chosen, named, files = (
            tuple(with_fit(one, fit, unasked=unasked) for one in some)
            for some in (self.chosen, self.named, self.files)
        )
        return replace(self, chosen=chosen, named=named, files=files)

    def also(self, *others: Entrant) -> Entrants:
        """These entrants and others, which count as named."""
        chosen = {str(one): one for one in (*self.chosen, *others)}
        named = {str(one): one for one in (*self.named, *others)}
        return replace(self, chosen=tuple(chosen.values()), named=tuple(named.values()))


def _two_policies(first: str, second: str) -> TracekitError | None:
    """The hint where the second is a placement policy too."""
    try:
        parse_policy(second)
    except TracekitError:
        return None
    weighed = first if "*" in first else f"0.5*{first}"
    return TracekitError(
        f"'{second}' places, it does not rebalance: it cannot stand behind '{first}'",
        hint=f"to weigh policies against each other write {weighed}+0.5*{second}",
    )


def rebalanced(policy: PlacementPolicy, rebalance: RebalancePolicy) -> Accompanied:
    """The policy with a rebalancer behind it."""
    if "recorded" in policy.reads:
        raise TracekitError(
            f"'{policy}' is what production did: nothing can be moved in it",
            hint="rebalance behind a placement policy, for example least_allocated+load_spread",
        )
    return Accompanied(policy, rebalance)


def why_one_scheduler(entrant: Entrant) -> str:
    """Why several schedulers cannot place by a policy; empty where they can."""
    policy = entrant.placement
    if "recorded" in policy.reads:
        return "is what production did"
    if policy.batched:
        return "decides for a batch at once"
    return "" if policy.filtered else "places where there is no room"


def with_schedulers(entrant: Entrant, schedulers: Schedulers) -> Accompanied:
    """The entrant with several schedulers that place by it; raises TracekitError where none can."""
    why = why_one_scheduler(entrant)
    if why:
        raise TracekitError(
            f"'{entrant}' {why}: several schedulers cannot place by it",
            hint=f"for example {USUAL}+{schedulers}",
        )
    return Accompanied(entrant.placement, entrant.rebalance, schedulers)


# The fit that lies beside a store, as a policy reads it: ``interference[fit=beside]``. The name
# of a policy says nothing of where folders lie, so that a run is the same in any folder; its
# address does, so that another process finds the fit.

#: What a fit is called beside its store.
FOLDER = "fit"


def fit_beside(store: Path) -> Path:
    """The folder in which the fit of a store is expected."""
    return store.resolve().parent / FOLDER


def with_fit(entrant: Entrant, folder: Path, *, unasked: bool = False) -> Entrant:
    """The entrant whose policy places by the fit of that folder, where it asks for one.

    Parameters
    ----------
    unasked : bool
        Whether policy ``interference`` with its defaults takes the fit, too.
    """
    placement = _placing_by_fit(entrant.placement, folder, unasked=unasked)
    if placement is entrant.placement:
        return entrant
    return replace(entrant, placement=placement) if isinstance(entrant, Accompanied) else placement


def _placing_by_fit(policy: PlacementPolicy, folder: Path, *, unasked: bool) -> PlacementPolicy:
    if isinstance(policy, Interference):
        return policy.beside(folder, unasked=unasked)
    if isinstance(policy, Profile) and policy.document is None:
        each = [_placing_by_fit(part.policy, folder, unasked=unasked) for part in policy.parts]
        if any(made is not part.policy for made, part in zip(each, policy.parts, strict=True)):
            return weighted([replace(p, policy=m) for p, m in zip(policy.parts, each, strict=True)])
    return policy


# Several schedulers of one policy, each of which places on a view of its own.
#
# Spelled behind a policy: ``default_scheduler+schedulers[number=2,cache_age_ms=10000]``.
# Containers go to the schedulers in turn, in the order of arrival. A scheduler takes a view of
# the cluster at each multiple of the age, those of several schedulers spread evenly over it; in
# between it learns of its own decisions alone. Where the node that it chose has no room when the
# decision is committed, that is a conflict: the scheduler takes a new view and decides again. So
# it does where its view has no node at all.


@dataclass(frozen=True, kw_only=True)
class Schedulers(Parametrised):
    """How many schedulers there are, and how old their views get."""

    number: Annotated[int, About("Schedulers that place in turn.", minimum=2, maximum=1000)] = 2
    cache_age_ms: Annotated[
        int,
        About("How old the view of a scheduler gets; 0: each decision has a new one.", minimum=0),
    ] = 10_000

    source: ClassVar[str] = "source 001, table 2-1"
    notes: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    @classmethod
    def name(cls) -> str:
        """The name that is spelled behind a policy."""
        return "schedulers"

    def view_ms(self, scheduler: int, now_ms: int) -> int:
        """When a scheduler, by its number from 0, took the view that it has now."""
        if not self.cache_age_ms:
            return now_ms
        first = scheduler * self.cache_age_ms // self.number
        return now_ms - (now_ms - first) % self.cache_age_ms
