"""Disclosure risk: what an intruder could learn from the protected file."""

from dalenius.risk.attribution import attribution, disco
from dalenius.risk.identity import replicated_uniques, uniques

__all__ = ["attribution", "disco", "replicated_uniques", "uniques"]
