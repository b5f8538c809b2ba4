"""Lower bounds for every placement: of measures, of nodes in use, and of the use that can move."""
