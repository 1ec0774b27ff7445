/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * Enter in sonda top: records the selected process for some seconds, and shows why its threads
 * waited (sonda record off-cpu, sonda report why), in a pager. Both run in the foreground of the
 * terminal, which sonda top has left before the call. The trace stays in a new directory of TMPDIR;
 * its path is printed.
 *
 * pid: the process; tid: pid, or a thread of it, whose waits are shown. socket: address of the
 * service, NULL for the default. Blocks until the pager has ended. Returns 0 or -errno.
 */
int top_record_process(int32_t pid, int32_t tid, const char *socket);
