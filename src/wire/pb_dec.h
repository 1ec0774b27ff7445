/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Iterates the fields of one protobuf message in untrusted bytes, without copies or allocations.
 * Length-delimited fields point into the message, which must not change while it is read. So never
 * use it directly on shared memory.
 *
 *	struct pb_dec d;
 *	struct pb_field f;
 *
 *	pb_dec_init(&d, data, len);
 *	while (pb_dec_next(&d, &f))
 *		switch (f.id) { case ...: f.u64 or f.data, f.len }
 *	if (!pb_dec_ok(&d))
 *		return -EBADMSG;
 *
 * Rejected: groups, wire types 6 and 7, field number 0 or above 2^29-1, a varint of more than 64
 * bits, a length past the end, an end inside a field. The caller checks wire_type: protobuf treats
 * a field of another type as unknown.
 */

#define PB_MAX_FIELD_ID ((1u << 29) - 1)

struct pb_field {
	uint32_t id;
	uint8_t wire_type; /* PB_WIRE_* */
	uint64_t u64; /* varint, fixed32, fixed64; for other types the length */
	const uint8_t *data; /* length-delimited: the bytes, never NULL; else NULL */
	size_t len;
};

struct pb_dec {
	const uint8_t *cur; /* after the last field returned */
	const uint8_t *end;
	bool bad;
};

/* data may be NULL if len is 0. */
static inline void pb_dec_init(struct pb_dec *d, const void *data, size_t len)
{
	d->cur = data;
	d->end = len ? d->cur + len : d->cur;
	d->bad = false;
}

/* Returns false at the end of the message, and at the first error. */
bool pb_dec_next(struct pb_dec *d, struct pb_field *f);

/* After pb_dec_next() returned false: returns true if the message ended without an error. */
static inline bool pb_dec_ok(const struct pb_dec *d)
{
	return !d->bad;
}

/* Reads a varint at p. Returns the byte after it, or NULL if it extends past end or has more than
 * 64 bits. Redundant continuation bytes are allowed, up to 10 bytes in total. */
const uint8_t *pb_get_varint_slow(const uint8_t *p, const uint8_t *end, uint64_t *ret_v);

static inline const uint8_t *pb_get_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret_v)
{
	if (p != end && p[0] < 0x80) {
		*ret_v = p[0];
		return p + 1;
	}
	if (end - p >= 2 && p[1] < 0x80) {
		*ret_v = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
		return p + 2;
	}
	return pb_get_varint_slow(p, end, ret_v);
}

static inline int64_t pb_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* Returns true if a length-delimited field equals a C string. */
bool pb_field_is(const struct pb_field *f, const char *s);
/* Returns the last length-delimited field with this number in the message that is the contents of
 * `outer`. Returns a field with id 0 if there is none. */
struct pb_field pb_inner_field(const struct pb_field *outer, uint32_t id);

/*
 * Iterates the varints of a packed field, or returns the one of an unpacked field:
 *
 *	for (struct pb_packed p = pb_packed_of(&f); pb_packed_next(&p, &v);)
 *
 * Ends at the first invalid varint. Fields of other wire types have no values.
 */
struct pb_packed {
	const uint8_t *cur;
	const uint8_t *end;
	uint64_t single;
	bool has_single;
};
struct pb_packed pb_packed_of(const struct pb_field *f);

static inline bool pb_packed_next(struct pb_packed *p, uint64_t *ret_v)
{
	if (p->has_single) {
		*ret_v = p->single;
		p->has_single = false;
		return true;
	}
	if (p->cur == p->end)
		return false;
	p->cur = pb_get_varint(p->cur, p->end, ret_v);
	if (p->cur)
		return true;
	p->cur = p->end;
	return false;
}
