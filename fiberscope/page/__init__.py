"""Self-contained HTML pages of one run or of a study."""

from fiberscope.page.document import page
from fiberscope.page.study import MOST_RUNS, study_data

__all__ = ["MOST_RUNS", "page", "study_data"]
