/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "ftrace/format/ring_page.h"

struct override;
struct override_target;
struct tracefs_instance;

/*
 * A tracefs instance: a folder with rings, clock, events and loss counters.
 *
 *	own	root/instances/sonda-PID-SESSION, which nobody else sees or changes. Nothing is on
 *		when it is made; all of it goes when it is removed
 *	lent	somebody else's: an instance of his, or the top level. What is changed in it by
 *		these functions goes back as it was when it is removed from here (override.h); other
 *		sessions may have it as well
 *
 * Functions give 0 or -errno unless they say else. The kernel refuses to remove an instance while
 * one of its files is open: close what instance_open gave first.
 */
struct instance {
	struct tracefs_instance *tracefs; /* owned */
	char *path; /* owned: so that removing needs no memory */
	struct override *override; /* owned; NULL: it is our own */
	bool copies_markers; /* set by instance_copy_markers */
	bool keeps_ring; /* what its ring holds, how large it is and its clock are to stay */
};

/* Makes the folder. session_id counts within this process; where it is taken (two sources of one
 * session), "-2" and so on is added. On failure with a sentence in e. */
int instance_make(struct instance *i, const char *root, uint64_t session_id, struct err_text *e);
/* Takes one that is there. On failure with a sentence in e; -ENOENT: it is not there. */
int instance_attach(struct instance *i, const struct override_target *terms, struct err_text *e);
/* Zeroed is fine. -EBUSY: somebody has a file of it open, so it stays; or, of a lent one, its tracer
 * (the next start puts that back). */
int instance_remove(struct instance *i);
static inline bool instance_is_made(const struct instance *i)
{
	return i->tracefs;
}
static inline bool instance_is_own(const struct instance *i)
{
	return !i->override;
}
/* Does another session of ours record there? It was at its tracing_on. */
bool instance_has_other_sessions(const struct instance *i);
/* Has another session of ours that file of it? */
bool instance_others_hold(const struct instance *i, const char *file);
/* Is it this session's to change it further? */
bool instance_has_changed(const struct instance *i, const char *file);
/* A file that another session of ours wants to be otherwise, so that instance_write gave -EBUSY;
 * NULL: none. */
const char *instance_refused_file(const struct instance *i);

/* In place of what the file holds; adds to a `trigger`. */
int instance_write(const struct instance *i, const char *file, const char *text);
/* Adds to a list that instance_write has begun. */
int instance_append(const struct instance *i, const char *file, const char *text);
/* Of a lent one: its ring is to stay as it is, and further sessions find it in use. */
int instance_keep_ring(const struct instance *i);
/* Ends the recording; a lent one goes on for those who had it on before. */
int instance_stop(const struct instance *i);
/* Drops what the rings hold. */
int instance_clear(const struct instance *i);
/* "DIR/file", for the caller to free; NULL: memory is out. */
char *instance_path_of(const struct instance *i, const char *file);
/* The whole file, NUL-terminated, for the caller to free; NULL: it cannot be read. */
char *instance_read(const struct instance *i, const char *file);
/* Of a lent one, before its rings get another size: notes all that has to be put back, and in an
 * order in which it can be. */
void instance_save_sizes(const struct instance *i);
/* A descriptor, or -errno. */
int instance_open(const struct instance *i, const char *file, int flags);

/* Sets the best clock there is: boot, global, local; or mono_raw where that is wanted and there.
 * Gives the one that is on. */
enum ftrace_clock instance_set_clock(const struct instance *i, bool mono_raw);
enum ftrace_clock instance_clock(const struct instance *i);

int instance_enable_event(const struct instance *i, const char *group, const char *name);
/*
 * ftrace/print: what is written to the top level's trace_marker comes here too, until instance_stop. Call it
 * when the instance records: while it does not, the kernel refuses (EBADF) each write to trace_marker, and
 * gives it to no other instance either. -EOPNOTSUPP on kernels without that option. A lent one has a
 * trace_marker that those know who write there.
 */
int instance_copy_markers(struct instance *i);
bool instance_can_copy_markers(const struct instance *i);
/* Does what the kernel says by trace_printk() come here? It goes to one place, which is the top
 * level until the option trace_printk_dest of another one is set. */
bool instance_has_printk(const struct instance *i);

/*
 * Removes the instances under root that a process like this one left behind when it was killed:
 * those whose process is gone, and those that bear our own number (call it before the first
 * instance_make). Gives how many were removed, or -errno. (What is lent: undo_logs_roll_back.)
 */
int instance_remove_stale(const char *root);
