"""Workers: tasks are done by this process, or by several of this machine."""
