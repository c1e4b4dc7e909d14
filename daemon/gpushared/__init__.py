# SPDX-License-Identifier: GPL-2.0-only
"""The daemon: tenants as an operator sees them, on top of what the kernel enforces."""
