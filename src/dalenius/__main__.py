"""``python -m dalenius``."""

from dalenius.cli import app

app()
