"""Base of whatever takes part in a replay, whether it places or moves: a name and parameters."""

from collections.abc import Mapping

from tracekit.base import parameters
from tracekit.base.values import spell


class Parametrised:
    """Base of a policy, which is a dataclass of parameters in a file of its name."""

    def metric_time_ms(self, now_ms: int) -> int:
        """Newest time whose measurements the policy may have at ``now_ms``; no later than it."""
        return now_ms

    def metric_samples(self) -> int:
        """How many of the newest samples of node usage the policy looks back on."""
        return 1

    @classmethod
    def name(cls) -> str:
        """The policy's public name: its file's."""
        return cls.__module__.rpartition(".")[2]

    def spelled(self) -> Mapping[str, str]:
        """Every parameter with its value as text."""
        return {name: spell(getattr(self, name)) for name in parameters.names(type(self))}

    def spelled_out(self) -> str:
        """Name and all parameters in one text."""
        return f"{self.name()}[{parameters.spell_all(self, defaults=True)}]"

    def written_in(self) -> tuple[str, ...]:
        """The files that say what it does, where these are a user's own."""
        return ()

    def address(self) -> str:
        """As ``parse_entrant`` reads it in any process."""
        return str(self)

    def __str__(self) -> str:
        given = parameters.spell_all(self, defaults=False)
        return f"{self.name()}[{given}]" if given else self.name()
