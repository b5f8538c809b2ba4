"""Two runs beside each other: what changed, and what is said of it."""
