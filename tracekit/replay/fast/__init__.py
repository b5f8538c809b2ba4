"""The fast engine: the decisions of the plain one, at a small part of its cost.

Three ways to a decision, each exact; a policy gets the quickest one it allows:

- search: a policy with a compiled kernel that can bound its score over a box of node states. Nodes
  of like state share a leaf; leaves that cannot hold the best are never opened.
- scan: a policy with a compiled kernel alone; every node with room is scored, in compiled code.
- rows: every other policy; its own numpy score, kept per shape of container and redone only for
  nodes that changed since.
"""
