/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "procfs/process/proc_status.h"

/*
 * Names of many tasks at a time, from the kernel's taskstats (a family of generic netlink), for a third
 * of what /proc/PID/task/TID/comm costs each. Not everywhere: it takes CONFIG_TASKSTATS of version 12
 * (Linux 5.17), CAP_NET_ADMIN, the first network namespace, and numbers of our own pid namespace.
 *
 * Format and source: Documentation/accounting/taskstats.rst, linux/taskstats.h.
 */

/* Asked for at a time: the answers, about 1.3 kB each, have to fit into the socket. */
#define TASKSTATS_MAX 32

/* Zero-initialise: closed. */
struct taskstats_socket {
	bool open;
	int fd; /* owned while open */
	uint16_t family; /* the kernel's number for it */
	uint32_t seq; /* of the last request */
};

struct taskstats_name {
	int32_t tid; /* asked for */
	int32_t tgid; /* 0: there is no such task any more, or it was not to be had */
	struct proc_name name;
};

/* 0, or -errno: there is none here, and none will be. */
int taskstats_open(struct taskstats_socket *t);
/* Also of one that is closed. */
void taskstats_close(struct taskstats_socket *t);
/* Fills in tgid and name; n: 1 to TASKSTATS_MAX. 0, or -errno: nothing is known, and it is closed. */
int taskstats_get(struct taskstats_socket *t, struct taskstats_name *names, size_t n);

/* One answer of the kernel. Its place among those asked for from seq on, or -EBADMSG where it is none
 * of them; *ret_tgid is 0 for a task that is gone. */
int taskstats_parse(const void *msg, size_t len, uint32_t seq, size_t n, int32_t *ret_tgid,
		    struct proc_name *ret_name);
