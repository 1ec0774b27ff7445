/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/*
 * Requests of producers are decoded by hand: without an allocation where data flows, without the
 * recursion of a general decoder over nesting that a peer chose, and with a limit for each string.
 *
 *	while (pb_dec_next(&d, &f))
 *		switch (FIELD_KEY(f)) {
 *		case KEY_VARINT(PB_COMMIT_DATA_REQUEST_FLUSH_REQUEST_ID): ...
 *		case KEY_BYTES(PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE): ...
 *		}
 *
 * A field of another wire type than expected so falls among the unknown ones, which are passed
 * over.
 */
#define FIELD_KEY(f) ((f).id << 3 | (f).wire_type)
#define KEY_VARINT(id) ((id) << 3 | PB_WIRE_VARINT)
#define KEY_BYTES(id) ((id) << 3 | PB_WIRE_BYTES)

/*
 * A new C string of a field's bytes, in place of *s, which is freed. 0; -EMSGSIZE (longer than
 * max), -EINVAL (a NUL inside), -ENOMEM: *s is as before.
 */
int decode_string(const struct pb_field *f, size_t max, char **s);

/* A request of which no field is looked at must parse all the same: 0, or -EBADMSG. */
int decode_nothing(const uint8_t *args, size_t len);
