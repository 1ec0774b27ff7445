/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* What new_groups.bpf.c and its reader agree on: the ring has struct member_group. */
#define NEW_GROUPS_RING (256 * 1024)
#define NEW_GROUPS_UNNAMED 8192
