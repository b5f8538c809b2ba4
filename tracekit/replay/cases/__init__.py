"""Recorded cases of the upstream schedulers: what was asked, and what they answered."""
