"""Files of published tables: CSV, Excel, Parquet, JSON-stat, SDMX-CSV and R; and the files of τ-ARGUS."""

from dalenius.tables.formats.apriori import Apriori, read_apriori
from dalenius.tables.formats.argus import ArgusTable, read_argus, read_jj, write_argus, write_jj
from dalenius.tables.formats.files import read_table_file, write_table_file
from dalenius.tables.formats.tablefile import TableFile

__all__ = [
    "Apriori",
    "ArgusTable",
    "TableFile",
    "read_apriori",
    "read_argus",
    "read_jj",
    "read_table_file",
    "write_argus",
    "write_jj",
    "write_table_file",
]
