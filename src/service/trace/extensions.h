/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

/*
 * Descriptors of protobuf extensions, written at the head of each trace
 * (TracePacket.extension_descriptor), so that readers know fields that were added to TrackEvent and
 * similar messages. They are loaded when the service starts.
 */

#define MAX_EXTENSIONS 16
#define MAX_EXTENSION_BYTES (1u << 20) /* of a file */
#define MAX_EXTENSION_SET_BYTES (16u << 20) /* of a file after decompression */

struct extension_descriptor {
	uint8_t *data; /* owned; a FileDescriptorSet, serialized */
	size_t len;
	bool gzip; /* data is compressed with gzip */
};

/* Zeroed memory is an empty list. */
struct extensions {
	struct extension_descriptor list[MAX_EXTENSIONS];
	size_t n;
};

/* Adds a file of protoc --descriptor_set_out, optionally compressed with gzip. Returns 0, or
 * -EINVAL (another format), -EFBIG, -ENOBUFS (too many files) or -errno of reading, and sets e. */
int extensions_load(struct extensions *x, const char *path, struct err_text *e);
void extensions_deinit(struct extensions *x);
