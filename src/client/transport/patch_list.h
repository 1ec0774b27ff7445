/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/pb_enc.h"

/*
 * The lengths of nested messages that were still open when their chunk was given away. Each is four
 * bytes of the chunk that are made good later, by a patch.
 */

struct chunk_patch {
	uint32_t chunk_id;
	uint16_t writer_id;
	uint16_t target_buffer;
	uint16_t offset; /* of the length field, from the start of the chunk's payload */
	bool more; /* patches of the same chunk are going to follow */
	uint8_t data[PB_SIZE_FIELD];
};

/*
 * A message has at most one length field, and messages nest at most PB_MAX_DEPTH deep: so there is
 * a slot for each depth, and no list to grow. Zero-initialise.
 */
struct patch_list {
	unsigned used; /* bit i: slot[i] waits */
	struct chunk_patch slot[PB_MAX_DEPTH];
};

/*
 * Before the encoder leaves a chunk: points every open length field that lies in its current range
 * to a slot. proto carries the chunk's ids; payload is what offsets count from. Finished slots must
 * have been taken before. True when there were any.
 */
bool patch_list_detach(struct patch_list *l, struct pb_enc *e, const struct chunk_patch *proto,
		       const uint8_t *payload);

/* Takes one patch whose message was closed since, with `more` set. False: none is finished. */
bool patch_list_take(struct patch_list *l, struct chunk_patch *ret);
