/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/transport/writer.h"

/*
 * Collection errors: what is not counted, and why. Each is logged when it occurs and written to the
 * trace, and again after the incremental state was cleared.
 *
 * Format: perfetto.protos.EbpfCountersStats (an extension of sonda).
 */

#define EBPF_ERRORS_MAX 64 /* further ones are only logged */

struct ebpf_errors {
	struct {
		char *what, *reason; /* owned */
		uint64_t count, written_count; /* 0: no count */
		bool is_limit;
	} all[EBPF_ERRORS_MAX];
	size_t n, written;
};

void ebpf_errors_deinit(struct ebpf_errors *t);
/* Logs an error and adds it to the list. what: a family or a field of the config. The formatted
 * text is the reason, without a full stop. */
void ebpf_errors_add(struct ebpf_errors *t, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Reports a number of errors so far. reason is borrowed for the call. They are not logged: the
 * trace has the number. is_limit: a limit of the config left them out, which is not a loss. */
void ebpf_errors_set_count(struct ebpf_errors *t, const char *what, const char *reason,
			   uint64_t count, bool is_limit);
/* Writes new errors, and counts that have doubled, as one packet; with at_end all counts that have
 * grown. No packet of the writer may be open. */
void ebpf_errors_write(struct ebpf_errors *t, bool at_end, struct writer *w);
/* Writes how many programs members of awaited containers executed before their names were known;
 * no-op for 0. source: the data source. */
void ebpf_errors_write_missed(const char *source, uint64_t missed, struct writer *w);
/* Marks all errors to be written again. */
void ebpf_errors_mark_unwritten(struct ebpf_errors *t);
