"""A workload out of the sizes that a store records: nodes, containers, requests, groups, use."""
