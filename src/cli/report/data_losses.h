/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"
#include "cli/report/summary.h"

/* What a recording has lost, a loss for each place and kind. */

struct loss {
	char place[96]; /* "kernel rings"; "": the text names it */
	uint64_t count; /* of unit; 0 unknown */
	const char *unit; /* "events"; NULL without a count */
	struct strbuf text; /* "7 events (cpu1 7)" */
	struct strbuf advice; /* "try -B 1mb"; empty: none */
};

/* Zero-initialise; losses_deinit frees. */
struct losses {
	struct loss *list; /* owned */
	size_t n, cap;
	struct loss spare; /* of what memory is missing for */
};

void losses_deinit(struct losses *l);
/* Appends one, whose text and advice the caller writes. Valid until the next call. Never NULL. */
struct loss *losses_add(struct losses *l, const char *place, uint64_t count, const char *unit);
/* "kernel rings: 7 events (cpu1 7); try -B 1mb", a line each, ended. */
void losses_write(const struct losses *l, struct strbuf *lines);

/*
 * The losses of a recording, at each of the three places where data can be lost: the kernel's
 * rings, the shared memory, the central buffer; and of what producers took with them.
 */
void record_losses(const struct record_facts *f, struct losses *ret);

/* The service's counters: those at the end, else those in the trace; NULL: there are none. */
const struct service_stats *record_stats(const struct record_facts *f);
