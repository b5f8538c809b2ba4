"""What is replayed: nodes, containers, their sizes, times and use, wherever they come from."""
