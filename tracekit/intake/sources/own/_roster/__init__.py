"""Who is in a cluster of Kubernetes: its nodes and pods, and how long each was there."""
