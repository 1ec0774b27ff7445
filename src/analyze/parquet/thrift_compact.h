/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/span.h"
#include "base/text/str.h"

/*
 * Writes and reads structs in Thrift's compact protocol, in which Parquet has its headers. The
 * fields of a struct are written in ascending order of their ids.
 *
 * Source of the format: thrift/doc/specs/thrift-compact-protocol.md of Apache Thrift.
 */
#define THRIFT_DEPTH_MAX 8 /* structs inside of structs */

enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_I8 = 3,
	THRIFT_I16 = 4,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_DOUBLE = 7,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12,
};

struct thrift {
	struct strbuf *to; /* borrowed */
	int last[THRIFT_DEPTH_MAX]; /* the last id of each open struct */
	unsigned depth;
};

void thrift_i32(struct thrift *t, int id, int32_t v);
void thrift_i64(struct thrift *t, int id, int64_t v);
void thrift_binary(struct thrift *t, int id, const void *data, size_t len);
void thrift_text(struct thrift *t, int id, const char *text);

/* A struct as a field, or as an element of a list (id 0). */
void thrift_begin_struct(struct thrift *t, int id);
void thrift_end_struct(struct thrift *t);

/* Begins a list of n elements, which follow. */
void thrift_begin_list(struct thrift *t, int id, enum thrift_type of, size_t n);
void thrift_item_i32(struct thrift *t, int32_t v);
void thrift_item_i64(struct thrift *t, int64_t v);
void thrift_item_bool(struct thrift *t, bool v);
void thrift_item_binary(struct thrift *t, const void *data, size_t len);

/* ---- reading: the bytes are hostile ---- */

/* Set at and end; the other members are zero. After an error, all functions return 0 or nothing. */
struct thrift_reader {
	const uint8_t *at, *end; /* borrowed */
	bool failed;
	int last[THRIFT_DEPTH_MAX];
	unsigned depth;
};

/* Reads the head of the next field. Returns false at the end of the struct. */
bool thrift_next(struct thrift_reader *r, int *ret_id, enum thrift_type *ret_type);
/* Begins a struct, whose fields thrift_next() then reads up to their end. */
void thrift_open(struct thrift_reader *r);
/* Reads a value: an integer of any size; bytes, which are borrowed; the number of elements of a
 * list of this type. */
int64_t thrift_read_integer(struct thrift_reader *r);
struct span thrift_read_binary(struct thrift_reader *r);
size_t thrift_read_list(struct thrift_reader *r, enum thrift_type of);
void thrift_skip(struct thrift_reader *r, enum thrift_type type);
