/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Bytes that are written to a file with their CRC, and read from memory with a check of all
 * lengths.
 */

struct image_writer {
	FILE *to; /* borrowed */
	uint64_t len; /* bytes written */
	uint32_t crc; /* of them: CRC-32 */
	bool failed;
};

void image_write(struct image_writer *w, const void *data, size_t len);

struct image_reader {
	const uint8_t *at; /* borrowed */
	size_t left;
	bool failed;
};

/* Copies the next bytes. If there are not so many, sets r->failed, and ret to 0. */
void image_read(struct image_reader *r, void *ret, size_t len);
/* Returns a number of elements of this size, which follow; 0 if there are not so many bytes. */
size_t image_read_count(struct image_reader *r, size_t element);
