/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ftrace/format/ring_page.h"

/*
 * Where records of one CPU's ring are missing between two pages that were read, and exactly how
 * many. The number stands in the page behind the gap, unless that page is full to its last bytes.
 * Then it is the difference of the kernel's counter of overwritten records (`overrun`), which is
 * known to stand for this gap once the next page turns out to have no gap before it.
 *
 *	page, no gap          page behind a gap,           page, no gap before it
 *	time t1 ... t2        time t3 ..., no number       nothing was overwritten since
 *	                      overrun: 700                 -> {t2, t3, 700 - 0}
 *
 * A gap that follows directly is made one range with it, with the sum of both.
 */
/* Zero-initialise; for a ring that others have read before, accounted is its counter at that time. */
struct lost_ranges {
	uint64_t
		accounted; /* records in the ranges so far: the counter, as far as it is accounted for */
	uint64_t read_ns; /* the last record of the pages so far; 0: none */
	struct lost_range open; /* its number is not known yet; end_ns 0: none is open */
	uint64_t overrun; /* the counter when the last page of the open range had been read */
	bool loose; /* `accounted` may contain records of a range that is still to come */
};

/* Is the counter needed for this page? Then it is read after the page and before the next one. */
bool lost_ranges_want_overrun(const struct lost_ranges *l, const struct ring_page_facts *page);
/* One more page was read. overrun: the counter, where it is wanted; UINT64_MAX: it cannot be read.
 * True: *ret is complete. */
bool lost_ranges_add(struct lost_ranges *l, const struct ring_page_facts *page, uint64_t overrun,
		     struct lost_range *ret);
/* No page follows for now: the ring is empty, or it is not and the caller does not wait. True: *ret is
 * complete; what it counts too much in the second case, the next range counts too little. */
bool lost_ranges_end(struct lost_ranges *l, bool is_empty, struct lost_range *ret);
