/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"

/* Losses of a recording, one entry for each place and kind. */

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
	struct loss spare; /* used when memory is out */
};

void losses_deinit(struct losses *l);
/* Appends a loss and returns it (never NULL) for the caller to write text and advice. Valid until
 * the next call. unit is borrowed as long as l. */
struct loss *losses_add(struct losses *l, const char *place, uint64_t count, const char *unit);
/* Appends a line for each loss: "kernel rings: 7 events (cpu1 7); try -B 1mb". */
void losses_write(const struct losses *l, struct strbuf *lines);
