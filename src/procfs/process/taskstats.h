/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "procfs/process/proc_parse.h"

/*
 * Reads the names of many tasks with taskstats (generic netlink), at a third of the cost of
 * /proc/PID/task/TID/comm. It needs CONFIG_TASKSTATS with version 12 or later of the format (Linux
 * 5.17), CAP_NET_ADMIN, the initial network namespace, and task ids of its own pid namespace.
 *
 * Format and source: Documentation/accounting/taskstats.rst, linux/taskstats.h.
 */

/* Tasks of one request: the answers of about 1.3 kB each must fit into the socket buffer. */
#define TASKSTATS_MAX 32

/* Zero-initialise: closed. */
struct taskstats_socket {
	bool open;
	int fd; /* owned while open */
	uint16_t family; /* id of the netlink family */
	uint32_t seq; /* sequence number of the last request */
};

struct taskstats_name {
	int32_t tid; /* requested */
	int32_t tgid; /* 0: the task has exited or could not be read */
	struct proc_name name;
};

/* Returns 0, or -errno if it is unavailable on this machine. */
int taskstats_open(struct taskstats_socket *t);
/* Closes the socket; no-op if it is closed. */
void taskstats_close(struct taskstats_socket *t);
/* Fills in tgid and name of n requests (1 to TASKSTATS_MAX). Returns 0, or -errno after closing the
 * socket. */
int taskstats_get_names(struct taskstats_socket *t, struct taskstats_name *names, size_t n);
