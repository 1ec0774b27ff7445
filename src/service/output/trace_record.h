/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

/*
 * The records that a file of a trace consists of: the field Trace.packet of each packet.
 *
 *	| 0A | length: varint | packet | 0A | length ...
 */

#define TRACE_RECORD_MAX_HEAD 11 /* a tag of one byte and a varint */

/* Returns the bytes that a packet takes in the file. */
static inline size_t trace_record_size(size_t packet_size)
{
	return 1 + pb_varint_len(packet_size) + packet_size;
}

/* Writes the head of a record. Returns its end. */
static inline uint8_t *trace_record_put_head(uint8_t *p, size_t packet_size)
{
	p = pb_put_varint(p, pb_tag(PB_TRACE_PACKET, PB_WIRE_BYTES));
	return pb_put_varint(p, packet_size);
}

/* Returns the number of bytes of the record at p, which may exceed end; 0: end is within its head,
 * or it is no record. */
static inline uint64_t trace_record_len(const uint8_t *p, const uint8_t *end)
{
	uint64_t size = 0;
	const uint8_t *body = p < end ? pb_get_varint(p + 1, end, &size) : NULL;

	if (!body || *p != pb_tag(PB_TRACE_PACKET, PB_WIRE_BYTES))
		return 0;
	return size > INT64_MAX ? 0 : (uint64_t)(body - p) + size;
}

/* Returns the number of bytes in whole records of the first len bytes. */
static inline size_t trace_records_whole(const uint8_t *records, size_t len)
{
	const uint8_t *p = records, *end = records + len;
	uint64_t n;

	while ((n = trace_record_len(p, end)) > 0 && n <= (uint64_t)(end - p))
		p += n;
	return (size_t)(p - records);
}
