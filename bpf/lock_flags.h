/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* From include/trace/events/lock.h: flags of lock/contention_begin, as in its format file. */
#define LCB_F_SPIN 1
#define LCB_F_READ 2
#define LCB_F_WRITE 4
#define LCB_F_RT 8
#define LCB_F_PERCPU 16
#define LCB_F_MUTEX 32
