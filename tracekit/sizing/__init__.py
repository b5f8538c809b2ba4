"""Container sizing: recommended requests, and CPU and memory limits set anew every few periods.

The simulation is that of Yao et al., C.S.A. 2023 32(4), section 3. ``world`` has the simulation set
and the environment, ``policies`` the sizing policies, ``agent`` the learning agent, ``study`` the
comparison. ``requests`` recommends requests from recorded use.
"""
