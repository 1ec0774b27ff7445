/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* In CompactSched of a recording that is limited to some threads, a switch to the idle task with
 * this priority is a switch to a thread that is not recorded. No task has this priority (MAX_PRIO
 * of the kernel). */
#define COMPACT_STRANGER_PRIO 140
