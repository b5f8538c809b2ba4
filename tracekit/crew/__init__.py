"""Who does the work: tasks for this process, or for several of this machine."""
