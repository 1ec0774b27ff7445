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
 * A tracefs instance: a directory with rings, a clock, events and loss counters.
 *
 *	own		root/instances/sonda-PID-SESSION, made for this session alone. Everything
 *			is off when it is made; removing it removes all settings.
 *	kept		own, but sonda-kept-NAME. It outlives a session that does not end normally,
 *			and the next session with the name continues it.
 *	attached	an existing instance of another process, or the top level. instance_remove()
 *			restores the settings changed through these functions
 *			(override.h). Other sessions may use it at the same time.
 *
 * Functions return 0 or -errno unless stated otherwise. The kernel refuses to remove an instance
 * while one of its files is open: close the descriptors of instance_open() first.
 */
struct instance {
	struct tracefs_instance *tracefs; /* owned */
	char *path; /* owned; stored so that removal needs no memory */
	struct override *override; /* owned; NULL for an own instance */
	int lock; /* of an own instance: its directory, locked while the session lives; or -1 */
	bool copies_markers; /* set by instance_copy_markers */
	bool keeps_ring; /* set by the caller: records, size and clock must not change */
	/* of a kept instance that has begun to record: instance_remove() leaves it. Set by the
	 * caller, and for an old one by instance_make_kept() */
	bool stays;
};

/* Makes the directory. session_id is unique within this process; if the name is taken (two sources
 * of one session), "-2" and so on is appended. Sets e on failure. */
int instance_make(struct instance *i, const char *root, uint64_t session_id, struct err_text *e);
/* Makes the directory of a kept instance, or takes it over from a session that has ended. Sets
 * *ret_is_old in the latter case: it records, and has the settings and records of that session.
 * Waits for a session that is ending; returns -EBUSY if it still lives after half a minute. */
int instance_make_kept(struct instance *i, const char *root, const char *name, bool *ret_is_old,
		       struct err_text *e);
/* Returns a descriptor of the directory root/instances, locked against other processes that make
 * instances or search for stale ones; close() unlocks it. Returns -EWOULDBLOCK if another process
 * has held the lock for half a second, or another -errno: the caller continues without the lock. */
int instances_lock(const char *root);
/* Returns true if a process, of any pid namespace, holds the lock of the instance: its session is
 * alive. Call it with instances_lock() held. */
bool instance_is_locked(const char *path);
/* Attaches to an existing directory. Sets e on failure. Returns -ENOENT if it does not exist. */
int instance_attach(struct instance *i, const struct override_target *target, struct err_text *e);
/* Removes an own instance, or restores an attached one, and frees i's memory. A zeroed instance is
 * allowed. Returns -EBUSY if the directory stays because another process has a file of it open; or,
 * for an attached instance, if its tracer cannot be reset (the next start resets it). */
int instance_remove(struct instance *i);
static inline bool instance_is_made(const struct instance *i)
{
	return i->tracefs;
}
static inline bool instance_is_own(const struct instance *i)
{
	return !i->override;
}
/* Returns true if another session of this process records in the instance, that is, holds its
 * tracing_on. */
bool instance_has_other_sessions(const struct instance *i);
/* Returns true if another session of this process holds the setting. */
bool instance_is_held_by_others(const struct instance *i, const char *file);
/* Returns true if this session alone changed the setting and may change it again; always for an
 * own instance. */
bool instance_has_changed(const struct instance *i, const char *file);
/* Returns the first file that this session could not set because of another session; NULL if there
 * is none. */
const char *instance_refused_file(const struct instance *i);

/* Replaces the content of the file; in a `trigger` file, adds a command. */
int instance_write(const struct instance *i, const char *file, const char *text);
/* Adds to a list that instance_write() has begun. */
int instance_append(const struct instance *i, const char *file, const char *text);
/* For an attached instance: holds the settings that other sessions hold, and tracing_on with its
 * current value. So no other session changes them until this session ends, and other sessions find
 * the instance in use (instance_has_other_sessions). */
int instance_keep_ring(const struct instance *i);
/* Stops the recording. An attached instance keeps recording if it did before, or for other
 * sessions. */
int instance_stop(const struct instance *i);
/* Drops the content of the rings. */
int instance_clear(const struct instance *i);
/* Returns "DIR/file", which the caller frees, or NULL if out of memory. */
char *instance_make_path(const struct instance *i, const char *file);
/* Returns the whole file, NUL-terminated, which the caller frees, or NULL if it cannot be read. */
char *instance_read(const struct instance *i, const char *file);
/* Saves all sizes of an attached instance, in an order in which they can be restored. Call it
 * before its rings are resized. */
void instance_save_sizes(const struct instance *i);
/* Returns the KiB of the largest ring as allocated: at least the size asked for, plus the reader's
 * sub-buffer; 0 if it cannot be read. */
uint32_t instance_ring_kb(const struct instance *i);
/* Returns the KiB of a sub-buffer; of a page if the kernel has no other size (before 6.8). */
uint32_t instance_subbuf_kb(const struct instance *i);
/* Returns a descriptor, which the caller closes, or -errno. Before an attached instance's file is
 * opened for writing, its value is saved to be restored. */
int instance_open(const struct instance *i, const char *file, int flags);

/* Sets the best available clock: boot, global, local; first mono_raw if the caller wants it.
 * Returns the clock that the instance then has: its old one if another session holds the clock. */
enum ftrace_clock instance_set_clock(const struct instance *i, bool mono_raw);
enum ftrace_clock instance_clock(const struct instance *i);

int instance_enable_event(const struct instance *i, const char *group, const char *name);
/* Makes the kernel copy writes to the top level's trace_marker (ftrace/print) into this instance,
 * until instance_stop. Call it when the instance records: otherwise the kernel fails each write to
 * trace_marker with EBADF, and no instance gets it. Returns -EOPNOTSUPP if the kernel lacks the
 * option. Does nothing for an attached instance, which has a trace_marker of its own. */
int instance_copy_markers(struct instance *i);
/* Returns true if instance_copy_markers() has an effect, or the instance has its own
 * trace_marker. */
bool instance_can_copy_markers(const struct instance *i);
/* Returns true if records of trace_printk() go to this instance. They go to one place: the top
 * level, unless the option trace_printk_dest of another instance is set. */
bool instance_has_printk(const struct instance *i);
/* Returns true if the instance can have the tracer. */
bool instance_has_tracer(const struct instance *i, const char *tracer);

/* Removes the instances under root that a killed process left behind: those whose process has
 * ended, and those with our own pid (call it before the first instance_make). Returns the number
 * of instances removed, or -errno. Attached instances are restored by undo_logs_roll_back. */
int instance_remove_stale(const char *root);
