/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text/span.h"

/*
 * Parsers of /proc/PID/{io,cgroup} and /proc/PID/task/TID/schedstat.
 *
 * Formats: proc(5), cgroups(7); Documentation/scheduler/sched-stats.rst of the kernel.
 */

enum proc_io_key {
	PROC_IO_RCHAR, /* bytes returned by read(2) and similar calls */
	PROC_IO_WCHAR,
	PROC_IO_SYSCR, /* calls */
	PROC_IO_SYSCW,
	PROC_IO_READ_BYTES, /* from storage */
	PROC_IO_WRITE_BYTES,
	PROC_IO_CANCELLED_WRITE_BYTES, /* written bytes that a truncation made unnecessary */
	PROC_IO_KEYS,
};

struct proc_io {
	uint32_t has; /* bits by enum proc_io_key */
	uint64_t v[PROC_IO_KEYS];
};

/* Returns 0, or -EBADMSG if no line has the format. */
int proc_io_parse(const char *text, size_t len, struct proc_io *ret);

struct proc_schedstat {
	uint64_t run_ns; /* on a CPU */
	uint64_t wait_ns; /* runnable, on the run queue of a CPU */
	uint64_t slices; /* how often it was scheduled on a CPU */
};

/* Returns 0 or -EBADMSG. */
int proc_schedstat_parse(const char *text, size_t len, struct proc_schedstat *ret);

/*
 * Finds the cgroup of a process; *ret_path points into text. With several hierarchies it prefers,
 * among the paths other than "/": version 2, then systemd, then the memory controller, then the
 * first of the others. Returns 0 or -EBADMSG.
 */
int proc_cgroup_parse(const char *text, size_t len, struct span *ret_path);
