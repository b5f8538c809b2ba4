"""The experiment of the TBESK paper, and solvers of a batch beside each other."""
