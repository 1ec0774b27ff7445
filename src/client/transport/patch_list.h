/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/pb_enc.h"

/*
 * Backpatching: length fields of nested messages that were still open when their chunk was
 * returned. A patch writes these four bytes later.
 */

struct chunk_patch {
	uint32_t chunk_id;
	uint16_t writer_id;
	uint16_t target_buffer;
	uint16_t offset; /* of the length field, from the start of the chunk's payload */
	bool more; /* more patches of the same chunk follow */
	uint8_t data[PB_SIZE_FIELD];
};

/* A message has at most one length field, and messages nest at most PB_MAX_DEPTH deep, so one slot
 * per depth suffices. Zero-initialise. */
struct patch_list {
	unsigned used; /* bit i: slot[i] is in use */
	struct chunk_patch slot[PB_MAX_DEPTH];
};

/* Called before the encoder leaves a chunk: redirects each open length field of its current range
 * to a slot. proto carries the ids of the chunk; offsets count from payload. Finished slots must
 * have been popped before. Returns true if a length field was open. */
bool patch_list_detach(struct patch_list *l, struct pb_enc *e, const struct chunk_patch *proto,
		       const uint8_t *payload);

/* Removes one patch whose message was closed meanwhile and stores it in *ret. ret->more tells
 * whether the list has more of the chunk. Returns false if there is none. */
bool patch_list_pop_finished(struct patch_list *l, struct chunk_patch *ret);
