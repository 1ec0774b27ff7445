/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/text/str.h"
#include "config/trace_config.pb-c.h"

/*
 * Presets: words that stand for events and data sources that belong together. Each is a file
 * NAME.cfg, a trace config of data_sources only, whose first comment is its title:
 *
 *	# Idle states of CPUs.
 *	data_sources {
 *	  config { name: "linux.ftrace" ftrace_config { ftrace_events: "power/cpu_idle" } }
 *	}
 *
 * The first of these directories that has NAME.cfg wins:
 *
 *	$XDG_CONFIG_HOME/sonda/presets, or ~/.config/sonda/presets    the user's
 *	/etc/sonda/presets.d                                           the machine's
 *	PREFIX/share/sonda/presets                                     beside the program
 *	(in the program)                                               share/sonda/presets at its
 *	                                                               build
 *
 * In a name '_' means '-'. Unless a file has that name, NAME-events, NAME-counters and NAME-ebpf
 * are parts of the preset NAME: its ftrace events, its polled counters, and its BPF programs in the
 * kernel.
 *
 * The second comment paragraph may state the measured cost of the preset:
 *
 *	# Idle states of CPUs.
 *	#
 *	# Cost: 0.2 % of a CPU, 12 KiB/s
 */

#define PRESET_MAX_NAME 64
#define PRESET_MAX_BYTES (1u << 18) /* of a file */
#define PRESET_DIRS 3

/* How a data source is made. */
enum preset_part {
	PRESET_EVENTS,
	PRESET_COUNTERS,
	PRESET_EBPF,
	PRESET_SAMPLES, /* of call stacks */
	PRESET_PARTS
};

struct preset {
	char *name; /* owned */
	char *path; /* owned; of its file; NULL: in the program */
	char *title; /* owned; "" if it has none */
	char *cost; /* owned; NULL if it has none, and for a part */
	Pb__TraceConfig *config; /* owned; its data sources all have a config with a name */
};

/* The presets in the program and in the directories. A preset's file is read when it is first
 * needed. Not thread-safe. */
struct presets;

/* Returns the presets in the program and in dirs: a list that ends with NULL, of which only the
 * first PRESET_DIRS are used; NULL: the default directories. presets_free() frees them. Returns
 * NULL if memory runs out. */
struct presets *presets_new(const char *const *dirs);
void presets_free(struct presets *p);

/* Finds a preset by name, which has len bytes. Returns 0 and sets *ret, which p owns; -ENOENT if no
 * preset has this name; -EINVAL and sets e if the file is not a preset or cannot be read; or
 * -ENOMEM. */
int presets_find(struct presets *p, const char *name, size_t len, const struct preset **ret,
		 struct err_text *e);
/* Returns true if there is such a preset, readable or not. */
bool presets_has(struct presets *p, const char *name, size_t len);

/* Calls fn with the name of each preset, in alphabetical order. Stops when fn returns non-zero, and
 * returns that value. Returns -ENOMEM if memory runs out. */
int presets_for_each(struct presets *p, int (*fn)(void *ctx, const char *name), void *ctx);

/* Returns the nearest name, copied to buf, or NULL. */
const char *presets_nearest(struct presets *p, const char *word, char buf[static STR_NEAREST_SIZE]);

/* Returns which part of a preset a data source of this name belongs to. */
enum preset_part find_preset_part(const char *source);
/* "events", "counters", "ebpf", "samples". */
extern const char *const preset_part_names[PRESET_PARTS];

/* The presets in the program: build/gen/presets.c. The list ends with a NULL name. */
struct built_in_preset {
	const char *name;
	const char *text;
};
extern const struct built_in_preset built_in_presets[];
