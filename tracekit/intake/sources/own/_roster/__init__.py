"""The nodes and pods of a cluster of Kubernetes, and the life of each."""
