"""Which columns of a table are places on a map."""

from __future__ import annotations

from dalenius.data.schema import Kind, Role, Schema


def place_columns(schema: Schema, x: str = "", y: str = "") -> tuple[str, str]:
    """Columns of longitude and latitude: those named, those with the role, or the two of a point; empty if none.

    Examples
    --------
    >>> place_columns(Schema.infer({"lon": [1.5, 2.25], "lat": [1.5, 2.25], "age": [3, 4]}))
    ('lon', 'lat')
    """
    chosen = []
    points = [c.name for c in schema if c.kind is Kind.POINT and c.partner]
    for named, role, words in ((x, Role.LONGITUDE, ("lon", "lng")), (y, Role.LATITUDE, ("lat",))):
        called = [name for name in points if any(word in name.lower() for word in words)]
        chosen.append(named or next(iter([*schema.by_role(role), *called]), ""))
    return chosen[0], chosen[1]
