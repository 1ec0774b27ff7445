/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#include "config/ftrace/ftrace_config.pb-c.h"
#include "ftrace/events/event_table.h"

/*
 * What a session was asked for and does not get; told to the user in FtraceStats. Zero-initialise.
 * Those past the limit, and those that memory is missing for, are counted.
 */
#define SETUP_ERRORS_MAX 1000 /* in each list; the config is somebody else's */

struct setup_errors {
	char **unknown; /* owned, a list of libtracefs: events that the kernel does not have */
	char **failed; /* owned: "group/name (reason)", "option:name (reason)" */
	uint64_t unknown_more; /* that are not in the list */
	uint64_t failed_more;
	char *fatal; /* owned: why nothing at all is recorded, or NULL */
	char *notice; /* owned: what no kernel could give, though the rest is recorded; or NULL */
};

void setup_errors_deinit(struct setup_errors *r);
void setup_error_unknown_event(struct setup_errors *r, const char *event);
void setup_error_add(struct setup_errors *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Not where the same is in the list. */
void setup_error_add_once(struct setup_errors *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* So many others, which were not put in the other reports' list. */
void setup_error_add_count(struct setup_errors *r, uint64_t n);
/* The first one stays. */
void setup_error_fatal(struct setup_errors *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void setup_error_notice(struct setup_errors *r, const char *text);

/* FtraceConfig as a session uses it: defaults filled in, limits kept. */
struct ftrace_settings {
	uint32_t drain_period_ms;
	bool period_is_set; /* by the config */
	uint32_t buffer_size_kb; /* of each CPU's ring */
	uint32_t subbuf_size_kb; /* 0: to be chosen */
	uint32_t watermark; /* percent of a ring, 0: none */
	bool mono_raw_clock;
	bool keep_broken_pages;
	bool preserve; /* what is in the rings already is wanted */
	struct event_table_options events;
};

/* A session's rings together may take one part of so many of the memory; and where the config does not say
 * how large they are. */
#define RINGS_RAM_SHARE 4u
#define RINGS_PRESET_RAM_SHARE 64u

struct ftrace_machine {
	uint64_t ram_bytes;
	unsigned cpus;
};

/*
 * Reads the config (NULL: all defaults) for a machine. Fields that are not known to us are reported
 * by their numbers, and rings that are too large for it.
 */
void ftrace_settings_read(const Pb__FtraceConfig *config, const struct ftrace_machine *machine,
			  struct ftrace_settings *ret, struct setup_errors *errors);
