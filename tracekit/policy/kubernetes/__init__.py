"""Configurations of Kubernetes' own scheduler as policies, plugin by plugin."""
