"""Bounds that hold for every placement: of measures, of nodes, of what can move."""
