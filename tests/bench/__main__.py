# SPDX-License-Identifier: GPL-2.0-only
"""python -m tests.bench"""

import sys

from tests.bench.run import main

sys.exit(main())
