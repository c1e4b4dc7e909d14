# SPDX-License-Identifier: GPL-2.0-only
"""What the daemon and the command share: errors, sizes, names, models, the client."""
