"""Recorded cases of the upstream schedulers: a situation, and the scheduler's answer."""
