// SPDX-License-Identifier: Apache-2.0
/*
 * How it works: the bytes are compared with those that an event of this form has, one after another,
 * so no state of a decoder has to be kept and no field looked up. An event that differs ends the loop
 * before anything of it is counted.
 *
 *	12 len | 08 timestamp ... | 10 pid ... | tag len | message |
 *	        ^ body                                     ^ must end where the event ends
 */
#include "analyze/plain_events.h"

#include <string.h>

#include "analyze/event_names.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

#define TAG_EVENT (PB_FTRACE_EVENT_BUNDLE_EVENT << 3 | PB_WIRE_BYTES)
#define TAG_TIMESTAMP (PB_FTRACE_EVENT_TIMESTAMP << 3 | PB_WIRE_VARINT)
#define TAG_PID (PB_FTRACE_EVENT_PID << 3 | PB_WIRE_VARINT)
_Static_assert(TAG_EVENT < 0x80 && TAG_TIMESTAMP < 0x80 && TAG_PID < 0x80, "tags of one byte");

/* Bytes of the varint at p; 0: it has more than 8, or the event ends within 8. */
static inline size_t varint_len(const uint8_t *p, const uint8_t *end)
{
	uint64_t word, last;

	if ((size_t)(end - p) < sizeof(word))
		return 0;
	memcpy(&word, p, sizeof(word)); /* little-endian hosts only, as the ABI */
	last = ~word & 0x8080808080808080;
	return last ? (size_t)__builtin_ctzll(last) / 8 + 1 : 0;
}

static inline bool is_message_of_event(uint64_t tag)
{
	uint64_t field = tag >> 3;

	return (tag & 7) == PB_WIRE_BYTES && field > PB_FTRACE_EVENT_PID &&
	       field != PB_FTRACE_EVENT_COMMON_FLAGS && field != PB_FTRACE_EVENT_GENERIC &&
	       field <= PB_MAX_FIELD_ID;
}

/* The event's body, [p, end). 0: another form. */
static inline uint32_t field_of(const uint8_t *p, const uint8_t *end, uint64_t *ret_ns)
{
	uint64_t tag, size;
	size_t len;

	if (p == end || *p != TAG_TIMESTAMP)
		return 0;
	p = pb_get_varint(p + 1, end, ret_ns);
	if (!p || p == end || *p != TAG_PID)
		return 0;
	len = varint_len(++p, end);
	p = len ? pb_get_varint(p + len, end, &tag) : NULL;
	if (!p || !is_message_of_event(tag))
		return 0;
	p = pb_get_varint(p, end, &size);
	return p && size == (uint64_t)(end - p) ? (uint32_t)(tag >> 3) : 0;
}

static inline void count(struct event_counts *c, uint32_t field, uint32_t known)
{
	if (field < known && c->known) {
		c->total++;
		c->known[field]++;
	} else {
		event_counts_add(c, field, 1);
	}
}

const uint8_t *plain_events_count(const uint8_t *p, const uint8_t *end, struct event_counts *counts,
				  uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t first = UINT64_MAX, last = 0, size, ns;
	uint32_t known = event_names_end(), field;

	while (p != end && *p == TAG_EVENT) {
		const uint8_t *body = pb_get_varint(p + 1, end, &size);

		if (!body || size > (uint64_t)(end - body))
			break;
		field = field_of(body, body + size, &ns);
		if (!field)
			break;
		count(counts, field, known);
		/* 0 is no time, and as unsigned - 1 it is the latest */
		first = ns - 1 < first - 1 ? ns : first;
		last = ns > last ? ns : last;
		p = body + size;
	}
	*ret_first = first == UINT64_MAX ? 0 : first;
	*ret_last = last;
	return p;
}
