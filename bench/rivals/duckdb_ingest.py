"""The same job in DuckDB: typed read_csv, integer keys, distinct rows, sorted zstd Parquet.

Run by hand: ``python duckdb_ingest.py MSResource_0.tar.gz FOLDER``. ``tar`` unpacks: DuckDB reads
gzip and CSV but not tar. Two threads, 1 GB of memory and the compression level are tracekit's own.
"""

import subprocess
import sys
from pathlib import Path

import duckdb

archive, folder = Path(sys.argv[1]), Path(sys.argv[2])
folder.mkdir(parents=True)
subprocess.run(["tar", "-xzf", archive.resolve(), "-C", folder], check=True)
(csv,) = folder.glob("*.csv")
con = duckdb.connect(str(folder / "work.duckdb"))
con.execute("SET threads = 2; SET memory_limit = '1GB'; SET preserve_insertion_order = false")
con.execute(f"""
    CREATE TEMP TABLE raw AS SELECT * EXCLUDE n FROM read_csv('{csv}', header = true, columns = {{
        n: BIGINT, service: VARCHAR, container: VARCHAR, node: VARCHAR,
        cpu_fraction: DOUBLE, memory_fraction: DOUBLE, time_ms: BIGINT}})
""")
for entity in ("service", "container", "node"):
    con.execute(f"""
        CREATE TEMP TABLE {entity}_id AS
        SELECT CAST(row_number() OVER (ORDER BY id) - 1 AS INTEGER) AS key, id
        FROM (SELECT DISTINCT {entity} AS id FROM raw)
    """)
    con.execute(f"COPY {entity}_id TO '{folder / entity}.parquet' (COMPRESSION zstd)")
con.execute(f"""
    COPY (
        SELECT DISTINCT time_ms, s.key AS service_key, c.key AS container_key, n.key AS node_key,
            cpu_fraction, memory_fraction
        FROM raw JOIN service_id AS s ON s.id = service
        JOIN container_id AS c ON c.id = container JOIN node_id AS n ON n.id = node
        ORDER BY node_key, container_key, time_ms
    ) TO '{folder / "rows.parquet"}' (COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 122880)
""")
