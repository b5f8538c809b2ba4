"""The fast engine: the decisions of the plain one, at a small part of its cost.

There are three ways to a decision, each exact. A policy gets the quickest that it allows:

- search: for a policy with a compiled kernel that can bound its score over a box of node states. A
  k-d tree holds the nodes; leaves that cannot hold the best node are not scored.
- scan: for a policy whose kernel has no bound. Compiled code scores every node with room.
- rows: for every other policy. Its own numpy scores are kept for each shape of container and
  computed again only for nodes that changed.
"""
