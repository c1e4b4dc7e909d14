# SPDX-License-Identifier: GPL-2.0-only
"""One module for each noun of the command line."""
