"""Constraints on neighbours and nodes of a container.

There are three kinds: nodes that are open to a class (``allowed``), rules on how many containers a
domain of nodes may or must have (``rules``), and room in NUMA cells (``cells``). Each is a frozen
dataclass with an entry per container, in the order of the workload. It makes a keeper, which
follows who runs where and tells which nodes are open.
"""
