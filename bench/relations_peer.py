"""SDMetrics and SDV in an environment of their own: ``PEER_PYTHON bench/relations_peer.py golden|hma|par FOLDER OUT``.

``golden`` compares two folders of tables with SDMetrics' report of several tables; ``hma`` fits SDV's HMA and
samples as many parents, and writes what it took. Called by ``bench/relations.py``.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

warnings.filterwarnings("ignore")


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Tables of a folder, dates as dates."""
    found = {f.stem: pd.read_parquet(f) for f in sorted(folder.glob("*.parquet"))}
    for frame in found.values():
        for name in frame.columns:
            if str(frame[name].dtype) in ("object", "date32[day][pyarrow]") and name in (
                "date",
                "born",
                "died",
            ):
                frame[name] = pd.to_datetime(frame[name])
    return found


def metadata(data: dict[str, pd.DataFrame], facts: dict[str, Any]) -> dict[str, Any]:
    """Types of columns, keys and links as SDMetrics takes them."""
    held: dict[str, Any] = {"tables": {}, "relationships": facts["links"]}
    for name, frame in data.items():
        columns = {}
        for column in frame.columns:
            kind = "numerical" if pd.api.types.is_numeric_dtype(frame[column]) else "categorical"
            kind = "datetime" if pd.api.types.is_datetime64_any_dtype(frame[column]) else kind
            columns[column] = {"sdtype": "id" if column in facts["ids"][name] else kind}
        held["tables"][name] = {"columns": columns, "primary_key": facts["keys"].get(name)}
    return held


def golden(first: Path, second: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Scores of SDMetrics."""
    from sdmetrics.multi_table import CardinalityShapeSimilarity
    from sdmetrics.reports.multi_table import QualityReport

    real, made = tables(first), tables(second)
    described = metadata(real, facts)
    report = QualityReport()
    report.generate(real, made, described, verbose=False)
    scores = dict(report.get_properties().itertuples(index=False))
    return {
        "CardinalityShapeSimilarity": CardinalityShapeSimilarity.compute(real, made, described),
        "quality": {**scores, "overall": report.get_score()},
    }


def hma(folder: Path, facts: dict[str, Any], out: Path) -> dict[str, Any]:
    """CPU seconds of SDV's HMA, and its tables."""
    from sdv.metadata import Metadata
    from sdv.multi_table import HMASynthesizer

    data = tables(folder)
    described = Metadata.load_from_dict({**metadata(data, facts), "METADATA_SPEC_VERSION": "V1"})
    start = time.process_time()
    model = HMASynthesizer(described, verbose=False)
    model.fit(data)
    middle = time.process_time()
    made = model.sample_scale(1.0)
    end = time.process_time()
    out.mkdir(exist_ok=True)
    for name, frame in made.items():
        frame.to_parquet(out / f"{name}.parquet")
    return {"fit": middle - start, "sample": end - middle}


def par(folder: Path, out: Path) -> dict[str, Any]:
    """CPU seconds of SDV's PAR on visits beside their patients, and its tables."""
    from sdv.metadata import Metadata
    from sdv.sequential import PARSynthesizer

    data = tables(folder)
    whole = data["visits"].merge(data["patients"], on="patient_id").drop(columns="visit_id")
    whole["died"] = whole["died"].fillna(pd.Timestamp("2100-01-01"))
    described = Metadata.detect_from_dataframes({"visits": whole})
    described.update_column("patient_id", sdtype="id")
    described.set_sequence_key("patient_id")
    described.set_sequence_index("date")
    start = time.process_time()
    model = PARSynthesizer(described, context_columns=["sex", "region", "born", "died"])
    model.fit({"visits": whole})
    middle = time.process_time()
    made = model.sample_sequences(len(whole["patient_id"].unique()))
    end = time.process_time()
    made = made["visits"] if isinstance(made, dict) else made
    out.mkdir(exist_ok=True)
    made["died"] = made["died"].where(made["died"] < pd.Timestamp("2090-01-01"))
    people = made.drop_duplicates("patient_id")[["patient_id", "sex", "region", "born", "died"]]
    people.to_parquet(out / "patients.parquet")
    visits = made[["patient_id", "date", "reason", "cost"]].reset_index(names="visit_id")
    visits.to_parquet(out / "visits.parquet")
    return {"fit": middle - start, "sample": end - middle}


if __name__ == "__main__":
    what, *places = sys.argv[1:]
    told = json.loads((Path(places[0]) / "facts.json").read_text()) if what != "par" else {}
    if what == "par":
        print(json.dumps(par(Path(places[0]), Path(places[1]))))
    elif what == "golden":
        print(json.dumps(golden(Path(places[0]), Path(places[1]), told)))
    else:
        print(json.dumps(hma(Path(places[0]), told, Path(places[1]))))
