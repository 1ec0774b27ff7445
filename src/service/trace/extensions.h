/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

/*
 * Descriptors of protobuf extensions: with them at the head of a trace, its readers know the fields
 * that somebody has added to TrackEvent and its like (TracePacket.extension_descriptor). They are
 * given to the service when it starts, and the same for all of its traces.
 */

#define MAX_EXTENSIONS 16
#define MAX_EXTENSION_BYTES (1u << 20) /* of a file */
#define MAX_EXTENSION_SET_BYTES (16u << 20) /* of what a compressed one holds */

struct extension_descriptor {
	uint8_t *data; /* owned; a FileDescriptorSet, serialized */
	size_t len;
	bool gzip; /* the same in gzip's format */
};

/* Zeroed memory is an empty list. */
struct extensions {
	struct extension_descriptor list[MAX_EXTENSIONS];
	size_t n;
};

/*
 * Adds a file: what protoc --descriptor_set_out writes, or that compressed with gzip. 0, or with the
 * reason in *e: -EINVAL (it is neither), -EFBIG, -ENOBUFS (too many), or -errno of reading.
 */
int extensions_load(struct extensions *x, const char *path, struct err_text *e);
void extensions_deinit(struct extensions *x);
