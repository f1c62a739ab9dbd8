"""Self-contained HTML pages of one run or of a study."""

from fiberscope.page.document import page
from fiberscope.page.study import MAX_RUNS, study_data

__all__ = ["MAX_RUNS", "page", "study_data"]
