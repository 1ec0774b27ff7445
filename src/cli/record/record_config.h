/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/text/str.h"
#include "cli/record/record_options.h"
#include "cli/terminal/event_patterns.h"
#include "cli/terminal/kernel_events.h"
#include "cli/terminal/presets.h"
#include "config/trace_config.pb-c.h"

/* Checks that the words of -P are presets. Returns 0, or -EINVAL and sets e, with the nearest
 * preset. */
int record_presets_check(const struct record_options *o, struct presets *presets,
			 struct err_text *e);

/* Builds the trace config of a recording from the command line. */

/*
 * Builds the config: a new one if *config is NULL; else adds to the config of -c, and overrides its
 * settings. Patterns are matched against events (may be NULL); presets may be NULL. Patterns with
 * '!' that exclude nothing are added to ret_idle. record_threads_restrict() selects the threads.
 *
 * Returns 0, -EINVAL and sets e, or -ENOMEM. In any case the caller frees *config, if it is not
 * NULL, with pb__trace_config__free_unpacked.
 */
int record_config_build(const struct record_options *o, const struct tracefs_events *events,
			struct presets *presets, struct err_text *e,
			struct event_requests *ret_idle, Pb__TraceConfig **config);

/* Makes the service stream the trace into the file that is passed to it. max_bytes: limit of the
 * file; 0: none. */
void record_config_enable_streaming(Pb__TraceConfig *config, uint64_t max_bytes);

/* Serializes the config for the service. The caller frees *ret_bytes. Returns 0 or -ENOMEM. */
int record_config_pack(const Pb__TraceConfig *config, uint8_t **ret_bytes, size_t *ret_len);
