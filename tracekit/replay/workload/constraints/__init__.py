"""What a container may share a node with, and where it may run at all: one kind in each file.

A kind of constraint is a frozen dataclass with an entry per container, in the order of the
workload. It makes a keeper, which follows who runs where and tells which nodes are open.
"""
