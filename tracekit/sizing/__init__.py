"""Container sizing: limits of CPU and memory set anew every few periods, and who sets them best.

Yao et al., C.S.A. 2023 32(4), section 3. ``simset`` is what is simulated, ``simulation`` the
environment, ``policies`` who decides, ``agent`` the learning one, ``study`` the comparison.
"""
