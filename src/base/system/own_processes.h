/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Finds the processes of the recorder: this one, the helpers that it has forked, and the service. A
 * data source leaves out their activity where recording it would cause more of the same. The kernel
 * names the process that opened the service's sockets; for a private service this is sonda record.
 * A service whose sockets systemd has opened is not found.
 *
 * service: the pid that the kernel names; 0: unknown. Writes at most max pids; the remaining
 * entries stay as they are.
 */
void own_processes_find(const char *proc_root, pid_t service, uint32_t *pids, size_t max);
