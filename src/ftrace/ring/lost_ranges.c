/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counter C counts all overwritten records, also those after the page just read. A page left
 * the ring when the counter was C1; the counter was read later, so C >= C1. If the next page has
 * no gap before it, nothing was overwritten in between, and C == C1.
 */
#include "ftrace/ring/lost_ranges.h"

#include "base/core/mem.h"

static bool is_open(const struct lost_ranges *l)
{
	return l->open.end_ns != 0;
}

/* Ends the open range. It gets all records between `accounted` and the counter. */
static void end_range(struct lost_ranges *l, struct lost_range *ret)
{
	*ret = l->open;
	l->open = (struct lost_range){0};
	if (l->overrun == UINT64_MAX)
		return;
	if (l->overrun < l->accounted)
		l->accounted = 0; /* the rings were cleared, which resets the counter */
	ret->count = l->overrun - l->accounted;
	l->accounted = l->overrun;
}

bool lost_ranges_needs_overrun(const struct lost_ranges *l, const struct ring_page_facts *page)
{
	return page->lost && (!page->lost_count || is_open(l) || l->loose);
}

bool lost_ranges_add(struct lost_ranges *l, const struct ring_page_facts *page, uint64_t overrun,
		     struct lost_range *ret)
{
	uint64_t before = l->read_ns;
	bool complete = false;

	l->read_ns = MAX(page->last_ns, before);
	if (lost_ranges_needs_overrun(l, page)) {
		if (!is_open(l))
			l->open.begin_ns = before;
		l->open.end_ns = MAX(page->first_ns, 1u);
		l->overrun = overrun;
		return false;
	}
	if (page->lost) {
		*ret = (struct lost_range){before, page->first_ns, page->lost_count};
		l->accounted += page->lost_count;
		return true;
	}
	if (is_open(l)) {
		end_range(l, ret);
		complete = true;
	}
	l->loose = false;
	return complete;
}

bool lost_ranges_end(struct lost_ranges *l, bool is_empty, struct lost_range *ret)
{
	if (is_empty)
		l->loose = false;
	if (!is_open(l))
		return false;
	l->loose = !is_empty;
	end_range(l, ret);
	return true;
}
