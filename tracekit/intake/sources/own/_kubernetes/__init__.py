"""Kubernetes' objects as kubectl prints them: shapes, requests, rules and lives."""
