"""The zones of a node by how its CPU and memory go together; SQL holds the same number."""

#: Correlations nearer to 0 than this are zone B, and weak.
ZONE_LIMIT = 0.3
