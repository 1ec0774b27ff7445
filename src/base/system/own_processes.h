/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Finds the processes of the recorder: this one, the helpers that it has forked, and the service.
 * A data source leaves out what they do where recording it would cause more of it. The kernel names
 * the process that opened the service's sockets: sonda record does that for a service of its own. A
 * service whose sockets systemd has opened is not known.
 *
 * service: the pid that the kernel names; 0: unknown. Sets the first pids, at most max; the rest
 * stays as it is.
 */
void own_processes_find(const char *proc_root, pid_t service, uint32_t *pids, size_t max);
