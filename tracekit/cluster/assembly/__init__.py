"""A workload out of the tables of a store: nodes, containers, use, rules and provenance."""
