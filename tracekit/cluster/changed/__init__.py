"""A workload with other nodes, with more or fewer containers, or with some of them pinned."""
