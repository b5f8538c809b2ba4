"""The most nodes that held a container at any step: what has to be there at the peak."""

from tracekit.replay.measures._common import of_nodes_used

MEASURE = of_nodes_used(
    title="Nodes used at most",
    meaning="most nodes that held a container at any step, daemons not counted: the others are"
    " needed in none; who comes and goes between two steps counts in none either",
    formula="largest number of nodes with at least one container, at any step",
    order=15,
    over_steps="max",
    bound="requests",
)
