"""How hosts are built where no file says it, and how neighbours add up: each with its default.

Nothing heavy is imported here, since verbs read it for the command line's help.
"""

from typing import Annotated, Literal

from tracekit.base.parameters import About

Sockets = Annotated[int, About("Sockets of a host, without --topology.", minimum=1)]
SOCKETS = 2
ThreadsPerCore = Annotated[int, About("vCPUs of a core, without --topology.", minimum=1)]
THREADS_PER_CORE = 2

#: A container's use of its own vCPUs beyond this is not believed (specification 9.5, 9.7).
MOST_CPU = 2.0

#: How the profiles of neighbours are put together.
Aggregation = Annotated[Literal["mean", "occupancy", "sum"], About("How neighbours add up.")]
AGGREGATION: Aggregation = "mean"
