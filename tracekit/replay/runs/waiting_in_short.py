"""Who waits, on a terminal: a few kinds of containers of a few policies, and where the rest is."""
