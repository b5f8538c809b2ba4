"""Parameters that are lists of words, and what pods say that is compared with them."""

from collections.abc import Iterable

from tracekit.policy.view.pods import PodText

#: Words joined by '+'.
Words = tuple[tuple[str], ...]


def words(some: Iterable[str]) -> Words:
    """Words as such a parameter has them."""
    return tuple((one,) for one in some)


def owned_by(pod: PodText, kinds: Words) -> bool:
    """Whether a pod has an owner of one of these kinds."""
    return any((kind,) in kinds for kind, _ in pod.owners)


def states_of(
    pod: PodText, parts: Iterable[str], sorts: Iterable[str] = ("waiting", "terminated")
) -> set[str]:
    """The phase and reason of a pod, and why its containers of these parts wait or ended."""
    reasons = (pod.states.get(sort, {}).get(part, ()) for sort in sorts for part in parts)
    return {pod.phase, pod.reason, *(one for some in reasons for one in some)} - {""}
