"""Types of arrays; as a rule, an array has an entry or a row for each mapping of a batch."""

import numpy as np
from numpy.typing import NDArray

Booleans = NDArray[np.bool_]
Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]
