/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/transport/writer.h"

/*
 * What is not counted, and why: told to the operator when it happens, and in the trace, there again
 * after the state was cleared.
 *
 * Format: perfetto.protos.EbpfCountersStats (ours).
 */

#define EBPF_ERRORS_MAX 64 /* further ones are told to the operator only */

struct ebpf_errors {
	struct {
		char *what, *reason; /* owned */
		uint64_t count, written_count; /* 0: it has none */
	} all[EBPF_ERRORS_MAX];
	size_t n, written;
};

void ebpf_errors_deinit(struct ebpf_errors *t);
/* what: a family or a field of the config; the rest is a sentence without a full stop. */
void ebpf_errors_add(struct ebpf_errors *t, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for a number of things, up to now: reason is what they were, borrowed during the call. The
 * operator is not told, who has the number in the trace. */
void ebpf_errors_count(struct ebpf_errors *t, const char *what, const char *reason, uint64_t count);
/* What was not written yet, as one packet, and counts that have doubled; at_end: all that have grown.
 * No packet of the writer may be open. */
void ebpf_errors_write(struct ebpf_errors *t, bool at_end, struct writer *w);
/* All is to be written again. */
void ebpf_errors_clear(struct ebpf_errors *t);
