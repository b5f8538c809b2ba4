"""How much of its node a container of each service takes, inferred from usage alone.

The trace publishes no requests and no capacities. But a node's use is that of its containers, each
times the size of the container relative to the node, plus everything else that runs there::

    node use (t) = background (t) + sum over containers of size(service) * container use (t)

Changes from one sample to the next take out what stays or moves slowly, above all the background
and the course of the day; what is left are the sizes times the containers' changes, plus noise.

Where the sizes of nodes are recorded and differ, changes of a node are counted in nodes of the
commonest size; where they are not, all nodes are taken to be alike.
"""
