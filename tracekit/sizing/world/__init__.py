"""The simulated world of the sizing study: its settings, its set, its periods and its nodes."""
