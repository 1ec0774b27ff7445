/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "ftrace/events/ftrace_config.h"
#include "ftrace/ring/ring.h"
#include "ftrace/tracefs/instance.h"

/* Sizes of an instance's rings and of their sub-buffers, the units in which a ring is overwritten
 * and read. Large sub-buffers need fewer system calls per event. But a ring needs several, because
 * the one being written is not read as a whole; and the kernel needs contiguous memory for each,
 * which is easy up to 32 KiB. */
#define RING_SUBBUF_KB 32u /* the largest, unless the config sets a size */
#define RING_MIN_SUBBUFS 16u /* the fewest in a ring, unless the config sets a size */

#define RING_STEP_KB (128u << 10) /* step in which the rings of all CPUs are resized together */
#define RING_SMALL_KB 1024u /* of a CPU: the smallest step, and the ring before it is restored */

/* Sets the sizes of an instance that does not record yet. If memory is short, first sub-buffers
 * become smaller, then rings. Reports differences from the config. Returns the KiB of a ring that
 * was requested of the kernel; 0 if the size was neither read nor set. */
uint32_t ring_size_set(const struct instance *i, const struct ftrace_settings *s,
		       struct setup_errors *errors);

/* Shrinks the rings in steps, after the last read and before the instance is removed or restored.
 * The kernel reallocates a ring of full size when its sub-buffers get their old size: seconds for
 * gigabytes. */
void ring_size_shrink(const struct instance *i);

/* The kernel wakes us when a ring reaches its watermark, so the timer can be slow. Reading nearly
 * empty rings costs several times more CPU per event. The watermark is used by default, too; only a
 * config with drain_period_ms alone reads by the timer. The preset leaves three quarters of a ring
 * for records that arrive before we run. */
#define WATERMARK_PRESET 25u

/* Makes a listener of the session's own instance use the watermark, if the kernel supports it. The
 * rings have their sizes and record nothing yet; the listener is open and has its period. Reports
 * a watermark that was requested but is unsupported; the timer is used then. */
void ring_config_set_watermark(const struct instance *i, const struct ftrace_settings *s,
			       struct ring_listener *l, struct setup_errors *errors);

/*
 * The kernel allocates rings down to the last page. Without a limit a config with a digit too many
 * would make all other processes wait for memory, or be killed, and one user could take the memory
 * for the rings of all users. So the rings of all sessions of this process together may take a
 * part of the machine's memory, and users other than root a part of that. In sixteenths of it:
 *
 *	all sessions					4
 *	all consumers other than root			3
 *	one of these users (or the unknown ones)	2
 *
 * Each session may have rings of RING_SHARE_LEAST_KB, even beyond the limits.
 */
#define RING_SHARE_LEAST_KB 2048u

struct ring_share {
	LIST_ENTRY(ring_share) link;
	uint32_t uid; /* see ds_consumer_uid */
	uint64_t bytes; /* size of all rings of the session; 0: nothing is reserved */
};

/* Reserves memory for a session's rings, one for each CPU of the machine, until
 * ring_share_release(). Reduces *kb (of each ring) to what is left for the user, and reports
 * that. */
void ring_share_reserve(struct ring_share *s, uint32_t uid, const struct ftrace_machine *machine,
			uint32_t *kb, struct setup_errors *errors);
/* Releases the reservation. No-op if there is none. */
void ring_share_release(struct ring_share *s);
