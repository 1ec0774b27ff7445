/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text/span.h"

/*
 * The texts of /proc/PID/{io,cgroup} and /proc/PID/task/TID/schedstat, read from memory.
 *
 * Formats: proc(5), cgroups(7); Documentation/scheduler/sched-stats.rst of the kernel.
 */

enum proc_io_key {
	PROC_IO_RCHAR, /* bytes that read(2) and the like returned, wherever they came from */
	PROC_IO_WCHAR,
	PROC_IO_SYSCR, /* calls */
	PROC_IO_SYSCW,
	PROC_IO_READ_BYTES, /* from storage */
	PROC_IO_WRITE_BYTES,
	PROC_IO_CANCELLED_WRITE_BYTES, /* of those written, that a truncation made needless */
	PROC_IO_KEYS,
};

/* The key as it stands in the file. */
const char *proc_io_name(enum proc_io_key key);

struct proc_io {
	uint32_t has; /* bits by enum proc_io_key */
	uint64_t v[PROC_IO_KEYS];
};

/* 0, or -EBADMSG where no line is of the format. */
int proc_io_parse(const char *text, size_t len, struct proc_io *ret);

struct proc_schedstat {
	uint64_t run_ns; /* on a CPU */
	uint64_t wait_ns; /* ready to run, on the queue of a CPU */
	uint64_t slices; /* how often it got a CPU */
};

/* 0 or -EBADMSG. */
int proc_schedstat_parse(const char *text, size_t len, struct proc_schedstat *ret);

/*
 * The cgroup of a process, in text. Where there are several hierarchies: that of version 2 unless
 * everything is in its root, as on machines that use version 1; then that of systemd, of the memory
 * controller, or the first that is no root. 0 or -EBADMSG.
 */
int proc_cgroup_parse(const char *text, size_t len, struct span *ret_path);
