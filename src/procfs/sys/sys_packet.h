/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/counters/tracks.h"
#include "base/text/span.h"
#include "base/text/str.h"
#include "client/transport/writer.h"

/*
 * Counters that the kernel has and SysStats has no number for: counter tracks with the kernel's own
 * name, in a group for each file. They are noted while a SysStats is open and written behind it.
 * Zero-initialise; without sys_extras_init nothing is noted.
 */

#define SYS_EXTRAS_MAX 32768
#define SYS_EXTRA_NONE UINT32_MAX

struct sys_extra {
	uint32_t track;
	uint32_t group; /* its handle: the name is unique in it */
	char *name; /* owned */
	int64_t value;
	double fraction; /* instead, where it is_double */
	bool is_double;
};

struct sys_extras {
	struct tracks *tracks; /* owned */
	struct sys_extra *all; /* owned */
	size_t n, cap;
	uint32_t *fresh; /* owned; which were set since the last write, room for all of them */
	size_t n_fresh, fresh_cap;
};

int sys_extras_init(struct sys_extras *x, const char *source, struct writer *w);
void sys_extras_deinit(struct sys_extras *x);

/* The group of a file, such as "vmstat". */
uint32_t sys_extras_group(struct sys_extras *x, const char *name);
/* A group in it, such as a disk or a CPU. */
uint32_t sys_extras_subgroup(struct sys_extras *x, uint32_t group, const char *name);
uint32_t sys_extras_cpu(struct sys_extras *x, uint32_t group, uint32_t cpu);
/* The counter of that name in the group, made if need be, with the unit, unit_name, unit_multiplier
 * and total of kind; SYS_EXTRA_NONE: there are too many. */
uint32_t sys_extras_counter(struct sys_extras *x, uint32_t group, struct span name,
			    const struct track_spec *kind);
/* The same of a name that is known to be new in its group. */
uint32_t sys_extras_new(struct sys_extras *x, uint32_t group, struct span name,
			const struct track_spec *kind);
/* Once between two writes for each counter. */
void sys_extras_set(struct sys_extras *x, uint32_t counter, int64_t value);
/* The two in one, for who has a slot for each counter, 0 at first: it is made by the first value.
 * False: there are too many. */
bool sys_extras_put(struct sys_extras *x, uint32_t *slot, uint32_t group, struct span name,
		    const struct track_spec *kind, int64_t value);
void sys_extras_set_double(struct sys_extras *x, uint32_t counter, double value);

/* What was set, as of that moment. No packet may be open. */
void sys_extras_write(struct sys_extras *x, uint64_t boot_ns);

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
