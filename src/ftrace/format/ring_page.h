/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Iterates over the records of one sub-buffer of the kernel's trace ring, as read from
 * trace_pipe_raw. Copies nothing, reads each byte once, and checks every length before use. The
 * page must be private to the caller.
 *
 *	struct ring_page page;
 *	struct ring_record r;
 *	enum ring_page_status status = ring_page_open(&page, &layout, bytes, len);
 *
 *	if (status == RING_PAGE_OK)
 *		while ((status = ring_page_next(&page, &r)) == RING_PAGE_OK)
 *			... r.time, r.payload, r.len ...
 *	if (status != RING_PAGE_END)
 *		... the rest of the page is lost; status is the reason
 *
 * Format: events/header_page and events/header_event of tracefs; kernel/trace/ring_buffer.c.
 */

/* The values of FtraceClock in the trace. */
enum ftrace_clock {
	FTRACE_CLOCK_BOOT = 0, /* the clock of packet timestamps, too */
	FTRACE_CLOCK_UNKNOWN = 1,
	FTRACE_CLOCK_GLOBAL = 2,
	FTRACE_CLOCK_LOCAL = 3,
	FTRACE_CLOCK_MONO_RAW = 4,
};

/* Why the iteration ended. The values are those of FtraceParseStatus in the trace. */
enum ring_page_status {
	RING_PAGE_END = 0, /* all records were read */
	RING_PAGE_OK = 1, /* one more record was read */
	RING_PAGE_READ_ERROR = 2, /* 2 and 3 are set by the reader */
	RING_PAGE_PARTIAL_READ = 3,
	RING_PAGE_BAD_HEADER = 4,
	RING_PAGE_SHORT_EVENT_HEADER = 5,
	RING_PAGE_NULL_PADDING = 6,
	RING_PAGE_SHORT_PADDING_LENGTH = 7,
	RING_PAGE_BAD_PADDING_LENGTH = 8,
	RING_PAGE_SHORT_TIME_EXTEND = 9,
	RING_PAGE_SHORT_TIME_STAMP = 10,
	RING_PAGE_SHORT_DATA_LENGTH = 11,
	RING_PAGE_ZERO_DATA_LENGTH = 12,
	RING_PAGE_BAD_DATA_LENGTH = 13,
	RING_PAGE_SHORT_EVENT_ID = 14,
	RING_PAGE_END_OVERFLOW = 15,
	RING_PAGE_SHORT_COMPACT_EVENT = 16, /* 16 and 17 are set by the page encoder */
	RING_PAGE_INVALID_EVENT = 17,
	RING_PAGE_STATUS_COUNT = 18,
};

/* The layout of a sub-buffer. */
struct ring_page_layout {
	uint32_t size; /* bytes of a sub-buffer, including its header */
	uint16_t time_offset; /* u64: time of the first record */
	uint16_t commit_offset; /* length of the records, and flags */
	uint16_t commit_size; /* 8 on 64-bit kernels, 4 on 32-bit ones */
	uint16_t data_offset; /* offset of the first record */
};

/* Parses the text of events/header_page. Returns 0, or -EINVAL if the text or the layout is
 * invalid. */
int ring_page_layout_parse(const char *header_page, struct ring_page_layout *ret);

struct ring_page {
	const uint8_t *cur;
	const uint8_t *end;
	uint64_t time; /* time of the last record; before the first record, of the page */
	bool lost; /* the kernel overwrote records before this page */
	uint64_t lost_count; /* number of records; 0 if the kernel did not store it */
};

struct ring_record {
	uint64_t time; /* ns of the trace clock */
	/* starts with the u16 event id; the event's format describes the rest */
	const uint8_t *payload;
	uint32_t len; /* bytes, at least 2; includes padding at the end */
};

/* Summary of one page. */
struct ring_page_facts {
	uint32_t used; /* bytes of records; the whole page if unknown */
	bool lost; /* records were lost before this page */
	uint64_t lost_count; /* number of records; 0 if the kernel did not store it */
	uint64_t first_ns; /* of its first record */
	uint64_t last_ns; /* of its last record */
};

/* A range of one CPU's ring in which records were lost, between two pages that were read. */
struct lost_range {
	uint64_t begin_ns; /* trace clock: the last record before the range; 0: none */
	uint64_t end_ns; /* trace clock: the first record after the range */
	uint64_t count; /* 0: unknown */
};

/* Returns RING_PAGE_OK or RING_PAGE_BAD_HEADER. Sets page->time and page->lost in both cases if
 * len covers the header, and page->lost_count if the page has space for it. */
enum ring_page_status ring_page_open(struct ring_page *page, const struct ring_page_layout *layout,
				     const void *data, size_t len);

/* Reads a record that is not a plain short event: a long one, padding, or time. Returns
 * RING_PAGE_OK with *ret_skipped true if it was not an event; the caller then continues. */
enum ring_page_status ring_page_next_rare(struct ring_page *page, uint32_t head,
					  struct ring_record *ret, bool *ret_skipped);

#define RING_PAGE_TYPE_MAX 28 /* type_len 1..28: the payload has this many words */

/* If *page and *ret are locals whose address is not passed on, the compiler keeps the state of the
 * loop in registers. So the rare records work on copies. */
static inline enum ring_page_status ring_page_next(struct ring_page *page, struct ring_record *ret)
{
	struct ring_record rare_record;
	enum ring_page_status status;
	uint32_t head, type, len;
	struct ring_page rare;
	bool skipped;
	size_t left;

	do {
		left = (size_t)(page->end - page->cur);
		if (left < sizeof(head))
			return left ? RING_PAGE_SHORT_EVENT_HEADER : RING_PAGE_END;
		memcpy(&head, page->cur, sizeof(head));
		type = head & 31;
		if (__builtin_expect(type - 1 < RING_PAGE_TYPE_MAX, 1)) {
			len = type * 4;
			if (len > left - sizeof(head))
				return RING_PAGE_END_OVERFLOW;
			page->time += head >> 5;
			ret->time = page->time;
			ret->payload = page->cur + sizeof(head);
			ret->len = len;
			page->cur += sizeof(head) + len;
			return RING_PAGE_OK;
		}
		rare = *page;
		status = ring_page_next_rare(&rare, head, &rare_record, &skipped);
		*page = rare;
		if (!skipped)
			*ret = rare_record;
	} while (status == RING_PAGE_OK && skipped);
	return status;
}
