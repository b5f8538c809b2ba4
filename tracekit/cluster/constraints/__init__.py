"""Constraints on neighbours and nodes of a container: one kind in each file.

A kind of constraint is a frozen dataclass with an entry per container, in the order of the
workload. It makes a keeper, which follows who runs where and tells which nodes are open.
"""
