"""The answer of a run: repeats, standings of policies, the best one and how sure that is."""
