"""Constraints: on which nodes a container may run, and beside which containers.

There are three kinds: nodes that are open to a class of containers (``allowed``), rules on how many
containers a domain of nodes may or must have (``rules``), and room in NUMA cells (``cells``). Each
is a frozen dataclass with an entry per container, in the order of the workload. It makes a keeper,
which follows the placements of a replay and gives the nodes that are open.
"""
