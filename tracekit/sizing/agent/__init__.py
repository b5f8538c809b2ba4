"""The agent: its network, its memory, how it explores, and how it is trained.

``weights`` and ``forward`` use a trained network with numpy alone; ``train`` needs torch.
"""
