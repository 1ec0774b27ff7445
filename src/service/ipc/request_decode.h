/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/*
 * Requests of producers are decoded by hand: without allocation on the hot path, without recursion
 * of a depth that a peer chooses, and with a limit for each string.
 *
 *	while (pb_dec_next(&d, &f))
 *		switch (FIELD_KEY(f)) {
 *		case KEY_VARINT(PB_COMMIT_DATA_REQUEST_FLUSH_REQUEST_ID): ...
 *		case KEY_BYTES(PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE): ...
 *		}
 *
 * A field of an unexpected wire type is skipped, like an unknown field.
 */
#define FIELD_KEY(f) ((f).id << 3 | (f).wire_type)
#define KEY_VARINT(id) ((id) << 3 | PB_WIRE_VARINT)
#define KEY_BYTES(id) ((id) << 3 | PB_WIRE_BYTES)

/* Replaces *s, which is freed, by a new C string of a field's bytes. Returns 0; or -EMSGSIZE
 * (longer than max), -EINVAL (contains NUL) or -ENOMEM and leaves *s unchanged. */
int decode_string(const struct pb_field *f, size_t max, char **s);

/* Checks a request whose fields are not used. Returns 0, or -EBADMSG if it is malformed. */
int check_request_parses(const uint8_t *args, size_t len);
