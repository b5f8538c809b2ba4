"""The engine: containers arrive, a policy decides, the state changes, use is sampled."""
