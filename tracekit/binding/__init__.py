"""Placement down to the vCPU: which host, which socket, which vCPUs, and what that costs all."""
