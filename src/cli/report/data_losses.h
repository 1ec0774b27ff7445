/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"
#include "cli/report/record_facts.h"

/* Losses of a recording, one entry for each place and kind. */

struct loss {
	char place[96]; /* "kernel rings"; "": the text names it */
	uint64_t count; /* lost items, counted in `unit`; 0: unknown */
	const char *unit; /* "events"; NULL without a count */
	struct strbuf text; /* "7 events (cpu1 7)" */
	struct strbuf advice; /* "try -B 1mb"; empty: none */
};

/* Zero-initialise; losses_deinit frees. */
struct losses {
	struct loss *list; /* owned */
	size_t n, cap;
	struct loss spare; /* used when memory runs out */
};

void losses_deinit(struct losses *l);
/* Appends a line for each loss: "kernel rings: 7 events (cpu1 7); try -B 1mb". */
void losses_write(const struct losses *l, struct strbuf *lines);

/* Appends which option or field makes the rings large enough. bytes: the present size of a CPU's
 * ring. Of the facts, only who wrote the config is used. */
void ring_losses_advise(const struct record_facts *f, uint64_t bytes, struct strbuf *b);

/* Collects the losses of a recording from the three places where data can be lost (kernel rings,
 * shared memory, central buffer), from producers that disconnected, from what data sources report
 * as dropped, and from a failed flush or a cut file. */
void losses_collect(const struct record_facts *f, struct losses *ret);
