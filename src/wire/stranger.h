/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* CompactSched of a recording of some threads: a switch to the idle task with this priority, which
 * no task has (MAX_PRIO of the kernel), is one to a thread that is not recorded. */
#define COMPACT_STRANGER_PRIO 140
