# SPDX-License-Identifier: GPL-2.0-only
"""A raw client of NVIDIA's driver interface, of nvsim's ground truth and of gpushare's netlink."""
