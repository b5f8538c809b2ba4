"""The experiments of the Liang extender: load by pod, and how long a decision takes."""
