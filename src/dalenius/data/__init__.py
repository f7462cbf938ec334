"""Data: schemas, tables, files and example data."""

from dalenius.data.files import read, write
from dalenius.data.grouping import Grouping
from dalenius.data.panel import join_panel, split_panel
from dalenius.data.relations import Database, Link
from dalenius.data.schema import Column, Kind, Role, Schema
from dalenius.data.spells import join_spells, split_spells
from dalenius.data.table import Table

__all__ = [
    "Column", "Database", "Grouping", "Kind", "Link", "Role", "Schema", "Table", "join_panel", "join_spells", "read",
    "split_panel", "split_spells", "write",
]  # fmt: skip
