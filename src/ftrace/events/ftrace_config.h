/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/ftrace/ftrace_config.pb-c.h"
#include "ftrace/events/event_table.h"

/* Requests of a session's config that could not be fulfilled, reported to the user in FtraceStats.
 * Initialize to zero. Entries above the limit, or for which there is no memory, are counted. */
#define SETUP_ERRORS_MAX 1000 /* limit of each list, which bounds what a config can cost */

struct setup_errors {
	char **unknown; /* owned list of libtracefs: events that the kernel does not have */
	char **failed; /* owned: "group/name (reason)", "option:name (reason)" */
	uint64_t unknown_more; /* entries that are not in the list */
	uint64_t failed_more;
	char *fatal; /* owned: the reason why nothing is recorded, or NULL */
	/* owned: a request that no kernel can fulfil, though the rest is recorded; or NULL */
	char *notice;
};

void setup_errors_deinit(struct setup_errors *r);
void setup_error_add_unknown_event(struct setup_errors *r, const char *event);
void setup_error_add(struct setup_errors *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Like setup_error_add(), but a no-op if the list has the same text. */
void setup_error_add_once(struct setup_errors *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds n to the number of failures that are not in the list. */
void setup_error_add_unlisted(struct setup_errors *r, uint64_t n);
/* Sets r->fatal; a second call changes nothing. */
void setup_error_set_fatal(struct setup_errors *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets r->notice; a second call changes nothing. */
void setup_error_set_notice(struct setup_errors *r, const char *text);

/* The effective FtraceConfig: defaults filled in, limits applied. */
struct ftrace_settings {
	uint32_t drain_period_ms;
	bool period_is_set; /* the config sets the period */
	uint32_t buffer_size_kb; /* of each CPU's ring */
	uint32_t subbuf_size_kb; /* 0: chosen by ring_size_set */
	uint32_t watermark; /* percent of a ring, 0: none */
	bool mono_raw_clock;
	bool keep_broken_pages;
	bool preserve; /* keep what the rings hold already */
	bool on_flush_only; /* the rings are read by flushes and at the end */
	struct event_table_options events;
};

/* If the config does not set a size, a session's rings together may take this part of the
 * memory. */
#define RINGS_PRESET_RAM_SHARE 64u

struct ftrace_machine {
	uint64_t ram_bytes;
	unsigned cpus;
};

/* Reads the config (NULL: all defaults) for a machine. Reports unknown fields by number. */
void ftrace_settings_read(const Pb__FtraceConfig *config, const struct ftrace_machine *machine,
			  struct ftrace_settings *ret, struct setup_errors *errors);
