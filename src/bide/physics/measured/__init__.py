"""Step times from a measured kernel database (extra `measured`), lowered to the same StepTable as the roofline.

`measured_table(deployment)` answers with a Measured, or an Uncovered that says what the database lacks.
"""

from bide.physics.measured.database import Measured, measured_table
from bide.physics.measured.query import Uncovered

__all__ = ["Measured", "Uncovered", "measured_table"]
