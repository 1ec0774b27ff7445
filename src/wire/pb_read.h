/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/pb_dec.h"

/*
 * Reads a message that is the contents of a length-delimited field, with pb_dec.h. The bytes are
 * untrusted and must not change while they are read. A field without bytes is an empty message.
 *
 * pb_read() stores some fields in variables, whose types determine how:
 *
 *	uint64_t msb = 0;
 *	struct pb_field name = {0};
 *
 *	if (!pb_read(message, PB_TO(PB_X_MSB, &msb), PB_TO(PB_X_NAME, &name)))
 *		return -EBADMSG;
 *
 * An integer of any size, or a bool, takes a number, truncated to its size; a double takes the bits
 * of one; a struct pb_field takes a field with bytes. Fields of other wire types are treated as
 * unknown, and a variable whose field is missing keeps its value. If a field occurs several times,
 * the last one counts. PB_TO_ANY() stores a field of any wire type in a struct pb_field, whose id
 * says whether there is one.
 */
enum pb_kind { PB_KIND_32, PB_KIND_64, PB_KIND_BOOL, PB_KIND_BYTES, PB_KIND_ANY };

struct pb_to {
	uint32_t field;
	enum pb_kind kind;
	void *to;
};

/* clang-format off */
#define PB_TO(field, variable)                                                                     \
	((struct pb_to){(field), _Generic((variable),                                              \
		uint32_t *: PB_KIND_32, int32_t *: PB_KIND_32,                                     \
		uint64_t *: PB_KIND_64, int64_t *: PB_KIND_64, double *: PB_KIND_64,               \
		bool *: PB_KIND_BOOL, struct pb_field *: PB_KIND_BYTES), (variable)})
/* clang-format on */
#define PB_TO_ANY(field, variable) ((struct pb_to){(field), PB_KIND_ANY, (variable)})

#define pb_read(message, ...)                                                                      \
	pb_read_fields((message), (const struct pb_to[]){__VA_ARGS__},                             \
		       sizeof((const struct pb_to[]){__VA_ARGS__}) / sizeof(struct pb_to))

/* Returns false if the message is invalid; the fields before the error are stored then. Also
 * returns false if `message` exists, but is not length-delimited. */
bool pb_read_fields(const struct pb_field *message, const struct pb_to *to, size_t n);

static inline struct pb_dec pb_dec_of(const struct pb_field *message)
{
	struct pb_dec d;

	pb_dec_init(&d, message->data, message->data ? message->len : 0);
	return d;
}

/* After pb_dec_next() returned false: returns true if the message is valid as for
 * pb_read_fields(). */
static inline bool pb_dec_ok_of(const struct pb_dec *d, const struct pb_field *message)
{
	return pb_dec_ok(d) && (message->data || !message->id);
}

/* Executes the statement that follows for each field of a message: f is a new struct pb_field.
 * Ends at the first error. The second form sets the variable ok to false for an invalid message. */
#define pb_for_each(f, message)                                                                    \
	for (struct pb_dec f##_dec = pb_dec_of(message), *f##_in = &f##_dec; f##_in;               \
	     f##_in = NULL)                                                                        \
		for (struct pb_field f; pb_dec_next(f##_in, &f);)
#define pb_for_each_checked(f, message, ok)                                                        \
	for (struct pb_dec f##_dec = pb_dec_of(message), *f##_in = &f##_dec; f##_in;               \
	     (ok) &= pb_dec_ok_of(f##_in, (message)), f##_in = NULL)                               \
		for (struct pb_field f; pb_dec_next(f##_in, &f);)

/* A field, and all of its bytes with the tag. */
struct pb_raw {
	struct pb_field f;
	const uint8_t *data;
	size_t len;
};

static inline bool pb_raw_next(struct pb_dec *d, struct pb_raw *ret)
{
	ret->data = d->cur;
	if (!pb_dec_next(d, &ret->f))
		return false;
	ret->len = (size_t)(d->cur - ret->data);
	return true;
}

/* Like pb_for_each(): r is a new struct pb_raw. */
#define pb_for_each_raw(r, message)                                                                \
	for (struct pb_dec r##_dec = pb_dec_of(message), *r##_in = &r##_dec; r##_in;               \
	     r##_in = NULL)                                                                        \
		for (struct pb_raw r; pb_raw_next(r##_in, &r);)

/* Bytes as the contents of a field. */
#define PB_BYTES(bytes, size) (&(const struct pb_field){.data = (bytes), .len = (size)})
