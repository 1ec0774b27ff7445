/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"
#include "client/transport/writer.h"
#include "procfs/sys/extra_counters.h"

/*
 * The context of a poll of linux.sys_stats: the roots, the buffer for the file that is read, the
 * packet that is written, and the read errors.
 *
 *	sys_packet_begin(p);       takes the timestamp
 *	e = sys_packet_open(p);    called by a table that has a value; the first call opens the packet
 *	sys_packet_end(p);         closes the packet, then writes the extra counters
 *
 * A time slice without values writes nothing.
 */

/* Limit of file descriptors that one session keeps open. Files above it are opened at each read. */
#define SYS_PACKET_FDS_MAX 4096

/* Read errors of one table. Zero-initialise all but what. */
struct sys_errors {
	const char *what; /* name of the table in messages: "slab" */
	char path[128]; /* the first file that failed */
	int error; /* errno of the first failure */
	uint64_t count; /* failures since the start */
	uint64_t written; /* number of failures in the trace */
	struct sys_errors *next;
};

struct sys_packet {
	const char *proc_root; /* borrowed */
	const char *sys_root; /* borrowed */
	struct writer *w; /* borrowed */
	struct extra_counters extras;
	struct strbuf text; /* the last file read */
	unsigned fds; /* number of open files */
	uint64_t now; /* CLOCK_MONOTONIC at the start of the time slice, ns */
	uint64_t begun; /* CLOCK_BOOTTIME at the same moment */
	struct pb_enc *e; /* encoder of the open SysStats, or NULL */
	struct sys_errors *errors; /* list of the tables with errors; owned by the tables */
	bool has_new_errors;
};

void sys_packet_deinit(struct sys_packet *p);

void sys_packet_begin(struct sys_packet *p);
struct pb_enc *sys_packet_open(struct sys_packet *p);
void sys_packet_end(struct sys_packet *p);

/*
 * Counts a file that could not be read or parsed, and logs the first error of a table. error: a
 * positive errno.
 */
void sys_packet_count_error(struct sys_packet *p, struct sys_errors *t, const char *path,
			    int error);
/* Counts that /sys lists no CPU. */
void sys_packet_count_no_cpus(struct sys_packet *p, struct sys_errors *t);
/* Logs the number of failures at the end of the session. */
void sys_packet_log_errors(const struct sys_packet *p);
/*
 * Writes the error counts and the last values of the extra counters, in pieces, for a flush or the
 * stop. Returns true while there are more. No packet may be open.
 */
bool sys_packet_flush(struct sys_packet *p);

/* Unknown counter ids in the config: each is logged once, up to a limit. */

#define UNKNOWN_IDS_MAX 16

/* Zero-initialise. */
struct unknown_ids {
	int numbers[UNKNOWN_IDS_MAX];
	unsigned n;
	bool more; /* a message said that there are more */
};

/* Logs the id. file: name of the table in the message. */
void unknown_ids_log(struct unknown_ids *u, const char *file, int number);
