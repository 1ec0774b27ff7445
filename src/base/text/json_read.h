/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Reads JSON (RFC 8259) that may be hostile: one pass over a text in memory, without allocations.
 * The caller visits the values in the order of the text:
 *
 *	struct json_reader r;
 *	char key[64], name[256];
 *
 *	json_reader_init(&r, text, len);
 *	json_open(&r, '{');
 *	while (json_next_member(&r, key, sizeof(key)))
 *		if (strcmp(key, "Name") != 0 || !json_take_string(&r, name, sizeof(name)))
 *			json_skip(&r);
 *	good = json_end(&r);
 *
 * After the first error all functions fail. Numbers and words are skipped without a check.
 */
#define JSON_DEPTH_MAX 64 /* nested objects and arrays; deeper texts are invalid */

struct json_reader {
	const char *at, *end; /* borrowed */
	unsigned depth; /* of the objects and arrays that the caller has opened */
	bool is_first; /* no member or element was read since the last json_open() */
	bool failed;
};

void json_reader_init(struct json_reader *r, const char *text, size_t len);
/* Opens the next value if it is an object ('{') or an array ('['). Otherwise returns false and
 * reads nothing. The caller then reads its members or elements until there is none left. */
bool json_open(struct json_reader *r, char bracket);
/* Reads the key of the next member; the value follows. A key that does not fit, or has a NUL, is
 * "". Returns false, and closes the object, if there is none left. Also returns false after an
 * error. */
bool json_next_member(struct json_reader *r, char *key, size_t size);
/* Like json_next_member(), for an element of an array. */
bool json_next_element(struct json_reader *r);
/* Reads the next value, as UTF-8 with a final NUL, if it is a string that fits and contains no NUL.
 * Otherwise returns false and reads nothing. */
bool json_take_string(struct json_reader *r, char *ret, size_t size);
/* Skips the next value. */
void json_skip(struct json_reader *r);
/* Returns true if the whole text was read without an error. */
bool json_end(struct json_reader *r);
