/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ftrace/bundle.h"

struct tracefs_instance;

/*
 * A tracefs instance of a session's own: root/instances/sonda-PID-SESSION, with rings, clock,
 * events and loss counters that nobody else sees or changes. Nothing is on when it is made; all of
 * it goes when it is removed. Functions give 0 or -errno unless they say else.
 *
 * The kernel refuses to remove an instance while one of its files is open: close what
 * instance_open gave first.
 */
struct instance {
	struct tracefs_instance *tracefs; /* owned */
	char *path; /* owned: so that removing needs no memory */
};

/* Makes the folder. session_id counts within this process; where it is taken (two sources of one
 * session), "-2" and so on is added. On failure with a sentence in e. */
int instance_make(struct instance *i, const char *root, uint64_t session_id, struct err_text *e);
/* Zeroed is fine; -EBUSY: somebody has a file of it open, so it stays. */
int instance_remove(struct instance *i);
static inline bool instance_is_made(const struct instance *i)
{
	return i->tracefs;
}

int instance_write(const struct instance *i, const char *file, const char *text);
/* "DIR/file", for the caller to free; NULL: memory is out. */
char *instance_path_of(const struct instance *i, const char *file);
/* The whole file, NUL-terminated, for the caller to free; NULL: it cannot be read. */
char *instance_read(const struct instance *i, const char *file);
/* A descriptor, or -errno. */
int instance_open(const struct instance *i, const char *file, int flags);

/* Rings of so much for each CPU. Where memory does not suffice, half of it is tried, and so on. */
int instance_set_buffer_kb(const struct instance *i, uint32_t kb, uint32_t *ret_kb);
/* What the kernel made of it; 0 when that cannot be read. */
uint32_t instance_buffer_kb(const struct instance *i);

/* Sets the best clock there is: boot, global, local; or mono_raw where that is wanted and there.
 * Gives the one that is on. */
enum ftrace_clock instance_set_clock(const struct instance *i, bool mono_raw);
enum ftrace_clock instance_clock(const struct instance *i);

int instance_enable_event(const struct instance *i, const char *group, const char *name);
/* ftrace/print: what is written to the top level's trace_marker comes here too. -EOPNOTSUPP on
 * kernels without that option. */
int instance_copy_markers(const struct instance *i);

/*
 * Removes the instances under root that a process like this one left behind when it was killed:
 * those whose process is gone, and those that bear our own number (call it before the first
 * instance_make). Gives how many were removed, or -errno.
 */
int instance_remove_stale(const char *root);
