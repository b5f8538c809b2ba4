"""Entrants of a replay: a placement policy, alone or with a rebalance policy or schedulers.

Spelled ``NAME[param=value,...]``, ``NAME[...]+REBALANCER[...]`` or ``NAME[...]+schedulers[...]``;
in place of ``NAME`` a profile, ``0.7*NAME+0.3*NAME``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tracekit.base import parameters
from tracekit.base.documents import is_document
from tracekit.base.errors import TracekitError
from tracekit.base.files.places import named_from
from tracekit.base.opened import read_bytes
from tracekit.base.parameters import About
from tracekit.policy.parse import parse_policy, policies_of, split_companion
from tracekit.policy.placement import Parametrised, PlacementPolicy, Reads, UsedBy
from tracekit.policy.placement.interference import Interference
from tracekit.policy.profile import Profile, weighted
from tracekit.policy.rebalance import RebalancePolicy, build_rebalancer, get_rebalancer
from tracekit.policy.rebalance._descheduler_file import descheduler

#: The policy that clusters run by default; to keep it costs nothing.
USUAL = "default_scheduler"


def parse_rebalancer(text: str) -> RebalancePolicy:
    """Return the rebalance policy of a text ``NAME[param=value,...]`` or ``DESCHEDULER_FILE[...]``.

    ``str`` of the policy is the same text, without the folder of a file.
    """
    name, given = parameters.split(text)
    if is_document(name):
        return descheduler(Path(name), given)
    return build_rebalancer(get_rebalancer(name), given)


@dataclass(frozen=True)
class Accompanied:
    """A placement policy run with a rebalance policy, with several schedulers, or with both.

    Parameters
    ----------
    placement : PlacementPolicy
    rebalance : RebalancePolicy, optional
        The policy that evicts once per interval; the placement policy places evicted containers.
    schedulers : Schedulers, optional
        Several schedulers that place by the policy, each on its own view; None for one scheduler.
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
        """Whether the placement policy scores only nodes with room."""
        return self.placement.filtered

    @property
    def wants(self) -> tuple[str, ...]:
        """Resources beyond cpu and memory that the placement policy reads."""
        return self.placement.wants

    @property
    def source(self) -> str:
        """The sources of all parts."""
        return "; ".join(one.source for one in self.parts)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks of all parts for a reader of the results."""
        return tuple(note for one in self.parts for note in one.notes)

    @property
    def used_by(self) -> UsedBy:
        """Who uses the placement policy, see ``UsedBy``; ``yardstick`` for several schedulers."""
        return self.placement.used_by if self.schedulers is None else "yardstick"

    @property
    def file(self) -> str | None:
        """The file of a user's own placement policy."""
        return self.placement.file

    @property
    def companions(self) -> tuple[RebalancePolicy | Schedulers, ...]:
        """The rebalance policy and the schedulers, if any."""
        return tuple(one for one in (self.rebalance, self.schedulers) if one is not None)

    @property
    def parts(self) -> tuple[PlacementPolicy | RebalancePolicy | Schedulers, ...]:
        """The placement policy, then the rebalance policy and the schedulers, if any."""
        return (self.placement, *self.companions)

    def spelled(self) -> Mapping[str, str]:
        """Return all parameters as text; names are ``PART.NAME`` for the parts of ``behind``."""
        own = dict(self.placement.spelled())
        for one in self.companions:
            own |= {f"{one.name()}.{name}": value for name, value in one.spelled().items()}
        return own

    def spelled_out(self) -> str:
        """Return all parts with all their parameters as one text, joined by '+'."""
        return "+".join(one.spelled_out() for one in self.parts)

    def written_in(self) -> tuple[str, ...]:
        """Return the paths of the user's own files that define the parts."""
        return tuple(file for one in self.parts for file in one.written_in())

    def name(self) -> str:
        """Return the names of all parts, joined by '+'."""
        return "+".join(one.name() for one in self.parts)

    def address(self) -> str:
        """Return the text with full file paths that ``parse_entrant`` reads in any process."""
        return "+".join(one.address() for one in self.parts)

    def __str__(self) -> str:
        return "+".join(map(str, self.parts))


Entrant = PlacementPolicy | Accompanied


def parse_entrant(text: str) -> Entrant:
    """Parse a placement policy, alone or with a rebalancer or schedulers: ``best_fit+load_spread``.

    ``str`` of the result is the same text. Raises TracekitError for an unknown name or parameter,
    and for policy ``observed`` with a rebalancer.
    """
    placement, behind = split_companion(text)
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
    """A wrapper that pickles a policy as its address, which the other process parses.

    The class of a policy may come from a user's file, whose path is in the address.
    """

    entrant: Entrant

    def __reduce__(self) -> tuple[Callable[[str], Sent], tuple[str]]:
        return _arrived, (self.entrant.address(),)


def _arrived(address: str) -> Sent:
    return Sent(parse_entrant(address))


@dataclass(frozen=True)
class Entrants:
    """The policies that one command compares, each once and in the order given.

    Parameters
    ----------
    chosen : tuple of Entrant
        All policies.
    named : tuple of Entrant
        The policies that the caller wrote by name, not those that ``all`` or ``common`` add.
    files : tuple of Entrant
        The policies that come from a scheduler's configuration file.
    words : bool
        Whether the caller wrote ``all`` or ``common``.
    """

    chosen: tuple[Entrant, ...] = ()
    named: tuple[Entrant, ...] = ()
    files: tuple[Entrant, ...] = ()
    words: bool = False

    @classmethod
    def of(cls, texts: Iterable[str]) -> Entrants:
        """Parse the texts of policies; ``all`` and ``common`` each stand for several of them.

        Raises
        ------
        TracekitError
            For an unknown name or a wrong parameter. The hint has a similar name.
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
        """The cluster's own scheduler: the first of ``files``, or ``default_scheduler`` if none."""
        return self.files[0] if self.files else parse_entrant(USUAL)

    @property
    def names(self) -> tuple[str, ...]:
        """The texts of the policies in ``named``."""
        return tuple(map(str, self.named))

    @property
    def reads_calls(self) -> bool:
        """Whether a policy reads the calls between services."""
        return any("calls" in one.reads for one in self.chosen)

    def with_fit(self, fit: Path, *, by_default: bool) -> Entrants:
        """Return a copy in which each policy has passed through ``with_fit``."""
        chosen, named, files = (
            tuple(with_fit(one, fit, by_default=by_default) for one in some)
            for some in (self.chosen, self.named, self.files)
        )
        return replace(self, chosen=chosen, named=named, files=files)

    def also(self, *others: Entrant) -> Entrants:
        """Return a copy with further policies, which count as named."""
        chosen = {str(one): one for one in (*self.chosen, *others)}
        named = {str(one): one for one in (*self.named, *others)}
        return replace(self, chosen=tuple(chosen.values()), named=tuple(named.values()))


def _two_policies(first: str, second: str) -> TracekitError | None:
    """The error for a second part that is a placement policy, too; None for another second part."""
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
    """Combine a placement policy with a rebalancer; raises TracekitError for ``observed``."""
    if "recorded" in policy.reads:
        raise TracekitError(
            f"'{policy}' is what production did: nothing can be moved in it",
            hint="rebalance behind a placement policy, for example least_allocated+load_spread",
        )
    return Accompanied(policy, rebalance)


def why_one_scheduler(entrant: Entrant) -> str:
    """Return why several schedulers cannot place by the entrant's policy; '' if they can."""
    policy = entrant.placement
    if "recorded" in policy.reads:
        return "is what production did"
    if policy.batched:
        return "decides for a batch at once"
    return "" if policy.filtered else "places where there is no room"


def with_schedulers(entrant: Entrant, schedulers: Schedulers) -> Accompanied:
    """Let several schedulers place by an entrant's policy; raises TracekitError if they cannot."""
    why = why_one_scheduler(entrant)
    if why:
        raise TracekitError(
            f"'{entrant}' {why}: several schedulers cannot place by it",
            hint=f"for example {USUAL}+{schedulers}",
        )
    return Accompanied(entrant.placement, entrant.rebalance, schedulers)


# The fit beside a store, which a policy reads as ``interference[fit=beside]``. The name of the
# policy holds no path, so that a run is the same in any folder. Its address holds the path, so that
# another process can read the fit.

#: The name of the folder of a fit beside its store.
FOLDER = "fit"


def fit_beside(store: Path) -> Path:
    """Return the default folder of a store's interference fit: ``fit`` next to the store."""
    return store.resolve().parent / FOLDER


def with_fit(entrant: Entrant, folder: Path, *, by_default: bool = False) -> Entrant:
    """Return the entrant whose ``interference[fit=beside]`` reads a ``tracekit fit`` in a folder.

    Parameters
    ----------
    by_default : bool
        Whether ``interference`` without parameters reads the fit, too.
    """
    placement = _placing_by_fit(entrant.placement, folder, by_default=by_default)
    if placement is entrant.placement:
        return entrant
    return replace(entrant, placement=placement) if isinstance(entrant, Accompanied) else placement


def _placing_by_fit(policy: PlacementPolicy, folder: Path, *, by_default: bool) -> PlacementPolicy:
    if isinstance(policy, Interference):
        return policy.beside(folder, by_default=by_default)
    if isinstance(policy, Profile) and policy.document is None:
        each = [
            _placing_by_fit(part.policy, folder, by_default=by_default) for part in policy.parts
        ]
        if any(made is not part.policy for made, part in zip(each, policy.parts, strict=True)):
            return weighted([replace(p, policy=m) for p, m in zip(policy.parts, each, strict=True)])
    return policy


# Several schedulers of one policy, each with its own view of the cluster.
#
# Spelled behind a policy: ``default_scheduler+schedulers[number=2,cache_age_ms=10000]``.
# Containers go to the schedulers in turn, in the order of arrival. A scheduler takes a view of
# the cluster at each multiple of the age; the times of several schedulers are spread evenly over
# the age. Between two views a scheduler sees only its own decisions. If the chosen node has no room
# when the decision is committed, that is a conflict: the scheduler takes a new view and decides
# again. It does the same if its view has no node with room.


@dataclass(frozen=True, kw_only=True)
class Schedulers(Parametrised):
    """Several schedulers that place in turn, each by its own cached view of the cluster."""

    number: Annotated[int, About("Schedulers that place in turn.", minimum=2, maximum=1000)] = 2
    cache_age_ms: Annotated[
        int,
        About("The highest age of a scheduler's view; 0: a new view for each decision.", minimum=0),
    ] = 10_000

    source: ClassVar[str] = "source 001, table 2-1"
    notes: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    @classmethod
    def name(cls) -> str:
        """Return ``schedulers``, the word for this part in a policy's text."""
        return "schedulers"

    def view_ms(self, scheduler: int, now_ms: int) -> int:
        """Return when a scheduler, numbered from 0, took the view that it has at ``now_ms``."""
        if not self.cache_age_ms:
            return now_ms
        first = scheduler * self.cache_age_ms // self.number
        return now_ms - (now_ms - first) % self.cache_age_ms


#: The key of the files in the document of a result.
FILES = "files"


def files_of(policies: Iterable[Entrant], folder: Path | None = None) -> list[dict[str, str]]:
    """Return ``path`` and ``sha256`` of each file that defines one of the policies.

    Parameters
    ----------
    folder : path, optional
        The folder of the document that will list the files. Paths are relative to it, so that both
        can be moved together; None: relative to the working folder.
    """
    names = dict.fromkeys(name for policy in policies for name in policy.written_in())
    return [
        {
            "path": named_from(folder or Path(), Path(name)),
            "sha256": hashlib.sha256(read_bytes(Path(name))).hexdigest(),
        }
        for name in names
    ]


def address(policy: Entrant) -> str:
    """Return a policy's text for any process: ``address()`` if a file defines it, else ``str``."""
    return policy.address() if policy.written_in() else str(policy)


def files_entry(policies: Iterable[Entrant], folder: Path | None = None) -> dict[str, Any]:
    """Return ``{"files": files_of(...)}`` for a document; empty if no file defines a policy."""
    files = files_of(policies, folder)
    return {FILES: files} if files else {}
