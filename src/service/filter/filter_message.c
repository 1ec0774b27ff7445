/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass from left to right. Adjacent fields that stay are copied in one run. A nested message is
 * entered, and its length is filled in at its end:
 *
 *	in	| tag len | keep keep drop drop keep |		one level of the stack: where it
 *	out	| tag ... | keep keep keep |			ends in `in`, where its length is
 *		      ^ filled in at the end			in `out`
 *
 * The write position in `out` is never ahead of the read position in `in`, so both may be the same
 * memory.
 */
#include "service/filter/filter_message.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "service/filter/filter_bytecode.h"
#include "service/filter/filter_strings.h"
#include "service/ipc/limits.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

struct level {
	const uint8_t *end;
	uint8_t *length; /* the bytes of its length in out; `width` of them */
	uint32_t message;
	uint32_t width;
};

struct pass {
	const struct filter_bytecode *code;
	struct filter_strings *strings;
	uint64_t *budget;
	const uint8_t *in;
	const uint8_t *run; /* the bytes from here to `in` stay, and are not copied yet */
	uint8_t *out;
	struct level *levels, *level; /* all, and the innermost */
};

/* Copies the bytes from p->run to `to`. The next run begins at p->in. */
static void copy_unchanged_run(struct pass *p, const uint8_t *to)
{
	size_t len = (size_t)(to - p->run);

	if (len > 0 && p->out != p->run)
		memmove(p->out, p->run, len);
	p->out += len;
	p->run = p->in;
}

/* Writes a varint of exactly `width` bytes. */
static void put_padded_length(uint8_t *p, uint32_t width, size_t v)
{
	for (; width > 1; width--, v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p = (uint8_t)v;
}

static int filter_message_enter(struct pass *p, uint32_t message, size_t len)
{
	struct level *l = p->level + 1;

	if (l == p->levels + MAX_FILTER_DEPTH)
		return -EBADMSG;
	*l = (struct level){p->in + len, p->out, message, pb_varint_len(len)};
	p->level = l;
	p->out += l->width;
	p->run = p->in;
	return 0;
}

static void filter_message_end_level(struct pass *p)
{
	const struct level *l = p->level--;

	put_padded_length(l->length, l->width, (size_t)(p->out - (l->length + l->width)));
}

/* Handles a length-delimited field that began at `start`; p->in is at its contents. Returns 0,
 * -EBADMSG or -E2BIG. */
static int pass_length_delimited_field(struct pass *p, const uint8_t *start, const uint8_t *tag_end,
				       size_t len, enum filter_action action, uint32_t argument)
{
	int r = 0;

	switch (action) {
	case FILTER_NESTED:
		copy_unchanged_run(p, tag_end);
		return filter_message_enter(p, argument, len);
	case FILTER_STRING:
		p->in += len;
		copy_unchanged_run(p, p->in);
		r = filter_strings_apply(p->strings, argument, p->out - len, len, p->budget);
		break;
	case FILTER_KEEP:
		p->in += len;
		break;
	case FILTER_DROP:
		copy_unchanged_run(p, start);
		p->in += len;
		p->run = p->in;
		break;
	}
	return r;
}

/* Returns the end of a varint whose value is not needed, or NULL if it extends past the end or has
 * more than 64 bits. */
static const uint8_t *skip_varint(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *last = end - p > 10 ? p + 10 : end, *first = p;

	if (end - p >= 8) {
		uint64_t bytes, ends;

		memcpy(&bytes, p, sizeof(bytes));
		ends = ~le64toh(bytes) & 0x8080808080808080;
		if (ends)
			return p + __builtin_ctzll(ends) / 8 + 1;
	}
	while (p != last && *p >= 0x80)
		p++;
	if (p == last || (p == first + 9 && *p > 1))
		return NULL;
	return p + 1;
}

/* Moves p->in past the value of a number. Returns false if the value is malformed. */
static bool skip_number_field(struct pass *p, unsigned wire_type)
{
	size_t left = (size_t)(p->level->end - p->in), len = wire_type == PB_WIRE_FIXED64 ? 8 : 4;

	switch (wire_type) {
	case PB_WIRE_VARINT:
		p->in = skip_varint(p->in, p->level->end);
		return p->in != NULL;
	case PB_WIRE_FIXED64:
	case PB_WIRE_FIXED32:
		if (left < len)
			return false;
		p->in += len;
		return true;
	default:
		return false;
	}
}

/* Like pb_get_varint(), but faster for two bytes: most tags and lengths have one or two. */
static const uint8_t *get_short_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
	if (end - p >= 2 && p[0] >= 0x80 && p[1] < 0x80) {
		*ret = (p[0] & 0x7fu) | (uint64_t)p[1] << 7;
		return p + 2;
	}
	return pb_get_varint(p, end, ret);
}

/* Filters one field. A nested message is only entered. Returns 0, -EBADMSG or -E2BIG. */
static int pass_next_field(struct pass *p)
{
	const uint8_t *start = p->in, *end = p->level->end, *tag_end;
	enum filter_action action;
	uint32_t argument;
	uint64_t tag, len;

	tag_end = get_short_varint(start, end, &tag);
	if (!tag_end)
		return -EBADMSG;
	p->in = tag_end;
	action = filter_bytecode_action(p->code, p->level->message, tag >> 3, &argument);
	if ((tag & 7) == PB_WIRE_BYTES) {
		p->in = get_short_varint(tag_end, end, &len);
		if (!p->in || len > (size_t)(end - p->in))
			return -EBADMSG;
		return pass_length_delimited_field(p, start, tag_end, (size_t)len, action,
						   argument);
	}
	if (!skip_number_field(p, tag & 7))
		return -EBADMSG;
	if (action != FILTER_KEEP)
		copy_unchanged_run(p, start);
	return 0;
}

int filter_message(const struct filter_bytecode *code, struct filter_strings *strings,
		   const uint8_t *in, size_t len, uint8_t *out, size_t *ret_len, uint64_t *budget)
{
	struct level levels[MAX_FILTER_DEPTH];
	struct pass p = {.code = code, .strings = strings, .budget = budget};
	uint32_t n_fields = 0;
	int r;

	if (len == 0) {
		*ret_len = 0;
		return 0;
	}
	p.in = p.run = in;
	p.out = out;
	p.level = p.levels = levels;
	levels[0] = (struct level){.end = in + len, .message = filter_bytecode_root(code)};
	for (;;) {
		while (p.in == p.level->end && p.level > p.levels) {
			copy_unchanged_run(&p, p.in);
			filter_message_end_level(&p);
		}
		if (p.in == p.level->end)
			break;
		r = n_fields++ < MAX_FILTER_FIELDS ? pass_next_field(&p) : -E2BIG;
		if (r < 0)
			return r;
	}
	copy_unchanged_run(&p, p.in);
	*ret_len = (size_t)(p.out - out);
	return 0;
}
