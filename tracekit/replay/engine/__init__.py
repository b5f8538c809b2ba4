"""The engine: containers arrive, a policy decides, the state changes, and use is sampled."""
