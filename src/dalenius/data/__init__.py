"""Data: schemas, tables, files and example data."""

from dalenius.data import examples
from dalenius.data.files import read_table, write_table
from dalenius.data.grouping import Grouping
from dalenius.data.schema import Column, Kind, Role, Schema
from dalenius.data.table import Table

__all__ = ["Column", "Grouping", "Kind", "Role", "Schema", "Table", "examples", "read_table", "write_table"]
