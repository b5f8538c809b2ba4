"""Columns and rules that Alibaba's tables of batch jobs share, and quantities inferred from them.

An instance is a container. Its request stands with its task in another file, so both files are read
together. If tasks come without the file of instances, each task gives all its instances: each runs
as long as the task, on no known node. ``_alibaba_batch.sql`` has the statements.
"""

#: What is inferred of an instance that its own row does not say.
INFERRED = (
    "an instance of a batch task asks for what its task asks for",
    "batch tasks without their instances: each instance lives as long as its task",
)
#: Larger files of instances are not read a second time only to see whose instances they lack.
MOST_INSTANCE_BYTES = 1 << 30
#: The rules of an instance.
BEGUN = (
    "status: status IN ('Ready', 'Waiting') -> one of what has begun",
    "start: start IS NULL -> when it began",
    (
        """end: coalesce("end", 0) = 0 AND status <> 'Running'"""
        " -> when it ended, since it is not Running"
    ),
    (
        """end: status <> 'Running' AND greatest("end", 0) < greatest(start, 0)"""
        " -> no time before its start"
    ),
)
#: The rules of a task that stands for its instances.
ALONE = tuple(rule.replace(": ", ": getvariable('instances') = 0 AND ", 1) for rule in BEGUN)
