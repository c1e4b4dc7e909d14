# SPDX-License-Identifier: GPL-2.0-only
"""Where a call through gpushare is meant to end otherwise than on the driver, and why.

Keys are steps of script.py. Anything else that differs is a fault, and so is an entry here that
doesn't differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DECLARED: Final[Mapping[str, str]] = {
    "card info": "only cards of which the tenant has a share are listed",
    "probed ids": "only cards of which the tenant has a share are listed",
    "attached ids": "only cards of which the tenant has a share are listed",
    "attach another card": "a card without a share does not exist",
    "sizes": "total is the quota, free is quota less charge",
    "sizes behind a pointer": "total is the quota, free is quota less charge",
    "heap info": "total is the quota, free is quota less charge",
    "heap limit": "the heap is as large as the quota",
    "regions": "they sum up to the quota",
    "window on physical memory": "a root caller has no special power",
    "accounting": "tells what other processes did",
    "unknown client: alloc": "nobody's client is refused before the driver is asked",
    "vaspace of nobody": "a client that isn't the tenant's is refused before the driver is asked",
    "pinned memory by RM_ALLOC": "this way in, the driver would pin gpushare's own pages",
}
