"""What containers and nodes of Kubernetes used: series of Prometheus joined with its list."""
