"""Makes acs_ROWS.csv and acs_ROWS.parquet by repeating the rows of ACSIncome: tile_acs.py ACS.parquet FOLDER ROWS

Whole numbers are written as such in the CSV file; the Parquet file has the types of the original.
"""
import pathlib
import sys

import pyarrow
import pyarrow.csv
import pyarrow.parquet

source, folder, rows = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
table = pyarrow.parquet.read_table(source).replace_schema_metadata(None)
tiled = pyarrow.concat_tables([table] * (rows // table.num_rows + 1)).slice(0, rows)
pyarrow.parquet.write_table(tiled, folder / f"acs_{rows}.parquet")
whole = pyarrow.schema([(name, pyarrow.int64()) for name in tiled.column_names])
pyarrow.csv.write_csv(tiled.cast(whole), folder / f"acs_{rows}.csv",
                      pyarrow.csv.WriteOptions(quoting_style="none", include_header=True))
