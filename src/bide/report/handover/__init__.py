"""What a plan hands over: commands, Kubernetes manifests and chart values, ready to be reviewed and applied."""

from bide.report.handover.files import Handover, handover
from bide.report.handover.writing import write_handover

__all__ = ["Handover", "handover", "write_handover"]
