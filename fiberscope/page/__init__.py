"""One HTML file that shows a study of many runs, or one run, and needs nothing but a browser."""

from fiberscope.page.document import page
from fiberscope.page.study import MOST_RUNS, study_data

__all__ = ["MOST_RUNS", "page", "study_data"]
