/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/span.h"
#include "base/text/str.h"
#include "client/counters/tracks.h"
#include "client/transport/writer.h"

/*
 * Kernel counters without an id in SysStats. They are emitted as counter tracks, in a group for
 * each file. Values are collected while a SysStats packet is open and written after it is closed.
 * Zero-initialise; before extra_counters_init() all functions are no-ops.
 */

#define EXTRA_COUNTERS_MAX 32768
#define EXTRA_COUNTER_NONE UINT32_MAX

struct extra_counter {
	uint32_t track;
	uint32_t group; /* handle of its group; the name is unique in the group */
	char *name; /* owned */
	int64_t value;
	double fraction; /* used in place of value if is_double */
	bool is_double;
};

struct extra_counters {
	struct tracks *tracks; /* owned */
	struct extra_counter *all; /* owned */
	size_t n, cap;
	uint32_t *fresh; /* owned; counters set since the last write; it has room for all */
	size_t n_fresh, fresh_cap;
};

/* Returns 0 or -ENOMEM. */
int extra_counters_init(struct extra_counters *x, const char *source, struct writer *w);

/* Returns the group of a file, such as "vmstat". */
uint32_t extra_counters_add_group(struct extra_counters *x, const char *name);
/* Returns a group in a group, such as a disk or a CPU. description: of a track_spec. */
uint32_t extra_counters_add_subgroup(struct extra_counters *x, uint32_t group, const char *name,
				     const char *description);
/* Returns the group of a CPU in a group. */
uint32_t extra_counters_add_cpu(struct extra_counters *x, uint32_t group, uint32_t cpu);
/* Returns the counter of that name in the group. It is created if it is new, with the unit,
 * unit_name, unit_multiplier and total of kind. Returns EXTRA_COUNTER_NONE above the limit. */
uint32_t extra_counters_find_or_add(struct extra_counters *x, uint32_t group, struct span name,
				    const struct track_spec *kind);
/* Sets the value. Call it at most once for each counter between two writes. */
void extra_counters_set(struct extra_counters *x, uint32_t counter, int64_t value);
/* Adds a counter at the first call, and sets it. *slot identifies the counter for later calls and
 * is 0 at first. The name must be new in its group. Returns false above the limit of counters, or
 * if memory runs out. */
bool extra_counters_set_in_slot(struct extra_counters *x, uint32_t *slot, uint32_t group,
				struct span name, const struct track_spec *kind, int64_t value);
/* Like extra_counters_set(), for a value with a fraction. */
void extra_counters_set_double(struct extra_counters *x, uint32_t counter, double value);

/*
 * The entries of a /sys directory that begin with a prefix, sorted by the number in their names.
 * Zero-initialise.
 */

/* Further names are dropped. */
#define SYS_NAMES_MAX 8192

struct sys_names {
	char **names; /* owned, as are the strings */
	size_t n;
};

/* Reads the directory. digits: takes only names that are the prefix and a number. Returns 0, or
 * -errno with s empty. */
int sys_names_read(struct sys_names *s, const char *dir, const char *prefix, bool digits);
void sys_names_deinit(struct sys_names *s);
bool sys_names_equal(const struct sys_names *a, const struct sys_names *b);

/* Directory of the CPUs, below the root of /sys. */
#define SYS_CPUS "devices/system/cpu"
/* No machine has more CPUs. */
#define SYS_CPUS_MAX 8192

/* The CPUs of a table that has one file for each CPU. Zero-initialise. */
struct sys_cpus {
	uint32_t n; /* number of CPUs that the owner has room for */
	uint64_t again; /* CLOCK_MONOTONIC of the next check */
};

/* Returns true and *ret_n, the highest id of a CPU (online or not) plus one, if there are more CPUs
 * than c->n. It checks at most every ten seconds. now: CLOCK_MONOTONIC, ns. */
bool sys_cpus_rescan(struct sys_cpus *c, const char *sys_root, uint64_t now, uint32_t *ret_n);

/*
 * The context of a poll of linux.sys_stats: the roots, the buffer for the file that is read, the
 * packet that is written, and the read errors.
 *
 *	sys_packet_begin(p);       takes the timestamp
 *	e = sys_packet_open(p);    for each table that has a value; the first call opens the packet
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

/* Counts a file that could not be read or parsed, and logs the first error of a table. error: a
 * positive errno. */
void sys_packet_count_error(struct sys_packet *p, struct sys_errors *t, const char *path,
			    int error);
/* Counts that /sys lists no CPU. */
void sys_packet_report_no_cpus(struct sys_packet *p, struct sys_errors *t);
/* Logs the number of failures at the end of the session. */
void sys_packet_log_errors(const struct sys_packet *p);
/* Writes the error counts and the last values of the extra counters, in pieces, for a flush or the
 * stop. Returns true while there are more. No packet may be open. */
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
void sys_packet_log_unknown_id(struct unknown_ids *u, const char *file, int number);
