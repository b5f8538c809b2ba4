"""What neighbours on a core and a socket cost: fits, and the topology of vCPUs."""
