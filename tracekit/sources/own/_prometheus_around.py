"""What is around the containers of a pod, and counts their use again."""

from tracekit.sources.own._prometheus_series import Series


class Outer:
    """Series of pods without a container, where others of the same answer name theirs.

    Those are of the cgroup around the containers, and count the same again.
    """

    def __init__(self) -> None:
        self._of: dict[str, set[int]] = {}
        self._apart: set[str] = set()

    def note(self, series: Series, part: int) -> None:
        """A series of an answer that was added."""
        if series.labels.get("container"):
            self._apart.add(series.name)
        else:
            self._of.setdefault(series.name, set()).add(part)

    def parts(self) -> set[int]:
        """What is left out, now that all series are known."""
        return {part for name in self._apart for part in self._of.get(name, ())}
