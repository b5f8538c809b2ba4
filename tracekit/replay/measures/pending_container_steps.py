"""How long containers waited, in steps."""

from tracekit.replay.measures import Measure, Step

# Who left containers waiting carries less load and is not compared: 'pending' says who.
MEASURE = Measure(
    title="Waiting container-steps",
    meaning="containers that waited for room, added up over the steps",
    formula="number of pairs of container and step at which it waits",
    group="detail",
    unit="container-steps",
    better="low",
    because="a container that waits does no work",
    order=13,
    short="wait steps",
    step=Step(column="pending", whole=True, drawn="Containers waiting [containers]"),
    over_steps="sum",
    compared=False,
)
