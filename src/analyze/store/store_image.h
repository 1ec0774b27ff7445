/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "analyze/store/image_stream.h"
#include "analyze/store/store.h"

/*
 * A store as bytes that the same program can read again: an image has the tables as they are in
 * memory, so another version of the program cannot read it. It lacks the bytes of the trace, to
 * which rows of kernel events refer, and what only the importer uses.
 */

/* Returns true if an image of the store would be complete: the trace is a mapped file, and no
 * memory was missing. */
bool store_can_be_image(const struct store *s);
/* Writes the image. The caller checks w->failed. */
void store_write_image(const struct store *s, struct image_writer *w);
/* Fills a store that store_init() made, and to which the caller gave the same mapped file. Checks
 * all lengths; the caller checks that the image is its own. Returns 0, -EBADMSG, -ENOMEM or -EFBIG;
 * after an error the store has part of the image. */
int store_read_image(struct store *s, struct image_reader *r);
