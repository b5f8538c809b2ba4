"""The agent: its network, its memory, how it explores, and how it is trained.

``sizing.weights`` uses a trained network with numpy alone; ``train`` needs torch.
"""
