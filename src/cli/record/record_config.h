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
#include "config/trace_config.pb-c.h"

/* The trace config of a recording from the file of -c. */

#define RECORD_CONFIG_FILE_MAX (1u << 20) /* bytes; a frame takes 128 KiB serialized */

/*
 * path "-": standard input. 0 (free with pb__trace_config__free_unpacked); -EINVAL: it is not a trace
 * config, or asks for what only another command line can do; else -errno of reading it. Whole lines
 * for the user are appended to errors.
 */
int record_config_file_read(const char *path, bool is_text, struct strbuf *errors,
			    Pb__TraceConfig **ret);

/* The trace config of a recording, from the shorthand of the command line. */

/*
 * events (may be NULL) is what patterns are looked up in. Words with '!' that take nothing away are
 * added to ret_idle. Which threads are recorded is for record_config_set_tids. 0 (free with
 * pb__trace_config__free_unpacked), -EINVAL and sets e, or -ENOMEM.
 */
int record_config_from_words(const struct record_options *o, const struct tracefs_events *events,
			     struct err_text *e, struct event_requests *ret_idle,
			     Pb__TraceConfig **ret);

/* Restricts the config's kernel events to these threads and the children that they will have, in
 * place of those of an earlier call. config: of record_config_from_words. Returns 0 or -ENOMEM. */
int record_config_set_tids(Pb__TraceConfig *config, const uint32_t *tids, size_t n);
/* The same with the threads that processes of this machine have now. Returns 0, or -errno with the sentence
 * in e (-ESRCH: one is not there). */
int record_config_set_pids(Pb__TraceConfig *config, const struct pid_list *pids,
			   struct err_text *e);

/* The service writes the trace into the file that is passed to it, while it records. max_bytes of that
 * file; 0: no limit. */
void record_config_stream(Pb__TraceConfig *config, uint64_t max_bytes);

/* Serialized, as the service wants it. *ret_bytes is the caller's to free. Returns 0 or -ENOMEM. */
int record_config_pack(const Pb__TraceConfig *config, uint8_t **ret_bytes, size_t *ret_len);
