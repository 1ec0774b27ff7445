/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"
#include "client/transport/writer.h"
#include "procfs/sys/sys_extras.h"

/*
 * What the sources of linux.sys_stats work with: the roots, one buffer for the file that is read,
 * the packet that is written, and what went wrong.
 *
 *	sys_poll_begin(p);              the time of what follows
 *	e = sys_poll_packet(p);         a source that has a value; the first one opens the packet
 *	sys_poll_end(p);                closes it, then the counters without a number follow
 *
 * A turn without values writes nothing.
 */

/* Descriptors that one session keeps open; files beyond are opened at each read. */
#define SYS_POLL_FDS_MAX 4096

/* What one source could not read. Zero-initialise with what. */
struct sys_trouble {
	const char *what; /* "slab": the source, for people */
	char path[128]; /* the first file of which it is true */
	int error; /* its errno */
	uint64_t count; /* failures since the start */
	uint64_t written; /* of which the trace tells */
	struct sys_trouble *next;
};

struct sys_poll {
	const char *proc_root; /* borrowed */
	const char *sys_root; /* borrowed */
	struct writer *w; /* borrowed */
	struct sys_extras extras;
	struct strbuf text; /* the last file that was read */
	unsigned fds; /* open now */
	uint64_t now; /* CLOCK_MONOTONIC of the turn's begin, ns */
	uint64_t begun; /* CLOCK_BOOTTIME of the same moment */
	struct pb_enc *e; /* of the open SysStats, or NULL */
	struct sys_trouble *troubles; /* of the sources, which own them */
	bool new_trouble;
};

void sys_poll_deinit(struct sys_poll *p);

void sys_poll_begin(struct sys_poll *p);
struct pb_enc *sys_poll_packet(struct sys_poll *p);
void sys_poll_end(struct sys_poll *p);

/* A file of the source could not be read or understood: said to the operator the first time, and
 * counted. error is an errno, positive. */
void sys_poll_failed(struct sys_poll *p, struct sys_trouble *t, const char *path, int error);
/* The same where /sys tells of no CPU at all. */
void sys_poll_no_cpus(struct sys_poll *p, struct sys_trouble *t);
/* Says how often, at the end. */
void sys_poll_sum_up(const struct sys_poll *p);
/* Brings the counts of failures, and the last values of counters without a number, into the trace:
 * at a flush and at the stop. Piece by piece, true: there are more. No packet may be open. */
bool sys_poll_flush(struct sys_poll *p);
