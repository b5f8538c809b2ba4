"""Interference: the cost of neighbours of a container, fitted from monitoring data.

The model is that of patent CN116795487A: the CPU of a container is a constant of its service, plus
k1 times the CPU of containers on the same cores, plus k2 times that of other containers on the same
socket.
"""
