/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"

/*
 * Writes structs in Thrift's compact protocol, in which Parquet has its headers. The fields of a
 * struct are written in ascending order of their ids.
 *
 * Source of the format: thrift/doc/specs/thrift-compact-protocol.md of Apache Thrift.
 */
#define THRIFT_DEPTH_MAX 8 /* structs inside of structs */

enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
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
