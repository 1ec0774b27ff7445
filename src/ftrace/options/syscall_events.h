/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/*
 * FtraceConfig.syscall_events: adds raw_syscalls/sys_enter and sys_exit to the selection, with a
 * filter of the kernel's that lets only these calls through. Unknown names are reported with the
 * nearest one; where none is known, both events are dropped. 0 or -ENOMEM.
 */
int syscall_events_apply(struct event_selection *events, const struct setup *s);

/*
 * The filter for numbers, sorted and each once: "id == 0 || (id >= 3 && id <= 7)". Runs are what
 * lets any list of one architecture pass the kernel's limit of a page. For the caller to free;
 * NULL: memory is out.
 */
char *syscall_filter(const uint32_t *numbers, size_t n);
