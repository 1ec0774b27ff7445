/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/record_options.h"
#include "cli/tracefs_events.h"
#include "config/trace_config.pb-c.h"

/* The trace config of a recording, from words or from a file. */

#define RECORD_CONFIG_MAX_BYTES (1u << 20) /* of a config file; a frame takes 128 KiB serialized */
#define RECORD_CONFIG_MAX_EVENTS 16384 /* of a command line, patterns expanded */

/*
 * From the shorthand of the command line. events (may be NULL) is what patterns like
 * "sched/sched_*" are expanded with; those that match nothing are passed on as they are, so that
 * they are missed at the end. 0 (free with pb__trace_config__free_unpacked), -EINVAL (a word that
 * cannot be an event, a pattern without events) with the sentence in e, or -ENOMEM.
 */
int record_config_from_words(const struct record_options *o, const struct tracefs_events *events,
			     struct err_text *e, Pb__TraceConfig **ret);

/*
 * From the file of -c ("-": standard input). 0 (free as above); -EINVAL: it is no trace config, or
 * asks for what only another command line can do; else -errno of reading it. Whole lines for the
 * person are appended to errors.
 */
int record_config_from_file(const char *path, bool is_text, struct strbuf *errors,
			    Pb__TraceConfig **ret);

/* Serialized, as the service wants it. *ret_bytes is the caller's to free. 0 or -ENOMEM. */
int record_config_pack(const Pb__TraceConfig *config, uint8_t **ret_bytes, size_t *ret_len);
