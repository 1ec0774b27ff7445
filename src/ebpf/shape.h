/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/text/str.h"
#include "client/counters/tracks.h"

struct btf;

/*
 * What a map's key or value is made of, by its BTF: one integer, or a struct of integers (structs in
 * it, too), and texts (arrays of char) where they make sense: in keys.
 *
 * What C has no type for is said by declaration tags, at the field, or at the map for all fields:
 *
 *	"sonda:unit=ns"   also bytes, count, or any word
 *	"sonda:gauge"     goes up and down; without it a value only grows
 */

#define SHAPE_FIELDS_MAX 32u
#define SHAPE_NAME_CHARS 64

struct shape_field {
	char name[SHAPE_NAME_CHARS]; /* "" where the whole is an integer or a text; else "a.b" */
	uint32_t offset, size; /* bytes; of an integer 1, 2, 4 or 8 */
	bool is_signed, is_text;
	/* by tags */
	bool is_gauge;
	enum track_unit unit;
	char unit_name[24]; /* of one that is no track_unit */
};

struct shape {
	struct shape_field fields[SHAPE_FIELDS_MAX];
	uint32_t n;
};

/* map: the name of the variable whose tags count for all; may be NULL. 0 or -EINVAL, with a
 * sentence's end: "has ..., which is ...". */
int shape_of(const struct btf *btf, uint32_t type, const char *map, struct shape *ret,
	     struct err_text *e);
/* Of an integer, by its address in a key or value. */
int64_t shape_value(const struct shape_field *f, const void *base);
/* A key for people: "bash", "12", "cpu 3, vector 7". */
void shape_text(const struct shape *s, const void *key, struct strbuf *b);
