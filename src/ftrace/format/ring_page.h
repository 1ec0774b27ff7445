/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Walks one sub-buffer of the kernel's trace ring, as trace_pipe_raw hands it out: bytes in,
 * records out. Nothing is copied, each byte is read once, and every length is checked against what
 * is left before it is used; the page must be private to the caller.
 *
 *	struct ring_page page;
 *	struct ring_record r;
 *	enum ring_page_status status = ring_page_open(&page, &layout, bytes, len);
 *
 *	if (status == RING_PAGE_OK)
 *		while ((status = ring_page_next(&page, &r)) == RING_PAGE_OK)
 *			... r.time, r.payload, r.len ...
 *	if (status != RING_PAGE_END)
 *		... the rest of the page is lost; status says why
 *
 * Format: events/header_page and events/header_event of tracefs; kernel/trace/ring_buffer.c.
 */

/* The numbers of the trace's FtraceClock. */
enum ftrace_clock {
	FTRACE_CLOCK_BOOT = 0, /* also that of every packet */
	FTRACE_CLOCK_UNKNOWN = 1,
	FTRACE_CLOCK_GLOBAL = 2,
	FTRACE_CLOCK_LOCAL = 3,
	FTRACE_CLOCK_MONO_RAW = 4,
};

/* Why a walk ended; the numbers are those of FtraceParseStatus in the trace. */
enum ring_page_status {
	RING_PAGE_END = 0, /* every record was seen */
	RING_PAGE_OK = 1, /* one more record */
	RING_PAGE_READ_ERROR = 2, /* 2 and 3 are the reader's */
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
	RING_PAGE_SHORT_COMPACT_EVENT = 16, /* 16 and 17 are the translation's */
	RING_PAGE_INVALID_EVENT = 17,
	RING_PAGE_STATUS_COUNT = 18,
};

/* Where things lie in a sub-buffer. */
struct ring_page_layout {
	uint32_t size; /* bytes of a sub-buffer, header included */
	uint16_t time_offset; /* u64: time of the first record */
	uint16_t commit_offset; /* payload length and flags */
	uint16_t commit_size; /* 8 on 64-bit kernels, 4 on 32-bit */
	uint16_t data_offset; /* the first record */
};

/* Reads the text of events/header_page. 0; -EINVAL: not such a text, or not such a page. */
int ring_page_layout_parse(const char *header_page, struct ring_page_layout *ret);

struct ring_page {
	const uint8_t *cur;
	const uint8_t *end;
	uint64_t time; /* of the last record; at first the page's own */
	bool lost; /* the kernel overwrote records before this page */
	uint64_t lost_count; /* how many; 0 when the kernel could not tell */
};

struct ring_record {
	uint64_t time; /* ns of the trace clock */
	const uint8_t *payload; /* the event as its format describes it: u16 id first */
	uint32_t len; /* bytes of it, 2 or more; alignment at the end included */
};

/* What the walk over one page found. */
struct ring_page_facts {
	uint32_t used; /* bytes of records; the whole page where that is unknown */
	bool lost; /* records are missing before it, */
	uint64_t lost_count; /* so many; 0: the kernel did not store the number */
	uint64_t first_ns; /* of the records in it */
	uint64_t last_ns;
};

/* Where records are missing between two pages that were read. */
struct lost_range {
	uint64_t begin_ns; /* trace clock: the last record before; 0: there is none */
	uint64_t end_ns; /* the first record behind it */
	uint64_t count; /* 0: unknown */
};

/* RING_PAGE_OK or RING_PAGE_BAD_HEADER; page->time and page->lost are set either way when len covers the
 * layout, and the number of those lost as far as there is a place where it would stand. */
enum ring_page_status ring_page_open(struct ring_page *page, const struct ring_page_layout *layout,
				     const void *data, size_t len);

/* The records that are not plain short events: long ones, padding, time. RING_PAGE_OK with *skipped
 * true: there was no record in it, go on. */
enum ring_page_status ring_page_next_rare(struct ring_page *page, uint32_t head,
					  struct ring_record *ret, bool *ret_skipped);

#define RING_PAGE_TYPE_MAX 28 /* type_len 1..28: payload of so many words */

/* In a loop of its own, with *page and *ret that nobody else has the address of, the walk's state
 * stays in registers: the rare records get copies. */
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
