# SPDX-License-Identifier: GPL-2.0-only
"""Inside a guest: makes the tenant "bench" with 4 GiB of the first card."""

from __future__ import annotations

import asyncio

from gpushared.kernel import NetlinkKernel
from tests.guest.test_races import new_tenant


async def main() -> None:
    kernel = NetlinkKernel()
    try:
        await new_tenant(kernel, "bench")
    finally:
        await kernel.close()


if __name__ == "__main__":
    asyncio.run(main())
