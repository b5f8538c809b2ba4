"""What people do with pandas: the archive to Parquet, unsorted and with its ids as text.

Run by hand: ``python pandas_parquet.py MSResource_0.tar.gz FILE.parquet``.
"""

import sys
import tarfile

import pandas as pd

with tarfile.open(sys.argv[1]) as archive:
    pd.read_csv(archive.extractfile(next(iter(archive)))).to_parquet(sys.argv[2])
