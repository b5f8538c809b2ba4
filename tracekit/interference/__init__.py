"""Interference: what a container's neighbours cost it, fitted from monitoring data.

The model is that of patent CN116795487A: the CPU of a container is a constant of its service, plus
k1 times the CPU of those that share its cores, plus k2 times that of the others on its socket.
"""
