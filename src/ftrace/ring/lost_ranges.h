/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ftrace/format/ring_page.h"

/*
 * Finds ranges of one CPU's ring in which records were lost between two pages, and the exact
 * number of records. The kernel stores the number in the page after the gap, unless that page is
 * full. Then the number is the increase of the kernel's counter of overwritten records (`overrun`),
 * which is final once the next page has no gap before it.
 *
 *	page, no gap          page after a gap,            page, no gap before it
 *	time t1 ... t2        time t3 ..., no number       nothing was overwritten since
 *	                      overrun: 700                 -> {t2, t3, 700 - 0}
 *
 * Adjacent gaps become one range with the sum of both.
 */
/* Initialize to zero. For a ring that was read before, set accounted to its counter at that
 * time. */
struct lost_ranges {
	/* part of the counter that belongs to earlier ranges */
	uint64_t accounted;
	uint64_t read_ns; /* last record of the pages so far; 0: none */
	struct lost_range open; /* a range whose number is not known yet; end_ns 0: none */
	uint64_t overrun; /* the counter after the last page of the open range was read */
	bool loose; /* `accounted` may include records of the next range */
};

/* Returns true if the counter is needed for this page. The caller reads it after this page and
 * before the next one. */
bool lost_ranges_needs_overrun(const struct lost_ranges *l, const struct ring_page_facts *page);
/* Adds a page. overrun: the counter, if lost_ranges_needs_overrun() needs it; UINT64_MAX:
 * unreadable. Returns true if *ret is a complete range. */
bool lost_ranges_add(struct lost_ranges *l, const struct ring_page_facts *page, uint64_t overrun,
		     struct lost_range *ret);
/* Ends a sequence of pages: the ring is empty, or the caller does not wait for the rest. Returns
 * true if *ret is a complete range. If the ring is not empty, the range may include records of the
 * next range, which then has fewer. */
bool lost_ranges_end(struct lost_ranges *l, bool is_empty, struct lost_range *ret);
