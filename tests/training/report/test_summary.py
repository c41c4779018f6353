from models import checkpoint, shipped
from training.report import measurements, summary
from training.report.measurements import SHIPPED, name_data


def test_the_summary_speaks_of_the_matcher_that_ships():
    loaded = checkpoint.load(shipped.MATCHER)
    stored = list(measurements.read(measurements.FILE).values())
    (row,) = (
        row
        for row in stored
        if row.get("preset") == SHIPPED and name_data(row) == summary.DATA and "retrieval" in row
    )
    assert row["checkpoint"] == loaded.fingerprint
    search = row["retrieval"]["search"]
    said = summary.describe_shipped(stored)
    assert f"{search['recall_1']:.0f} % of the sentences" in said
    assert f"{search['recall_10']:.0f} %" in said
    assert summary.describe_shipped([]) == ""
