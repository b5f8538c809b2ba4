"""Requests recommended from one part of the recorded use, and judged by the other part."""
