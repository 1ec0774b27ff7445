/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transport/patch_list.h"

#include <assert.h>

/*
 * The encoder does not report when a message is closed. It writes the length to the address in
 * size_field. A finished slot is recognised by its first byte: outside the current range the
 * encoder writes lengths as four-byte varints, whose first byte has its top bit set. An open slot
 * has 0 there.
 *
 *	chunk 7    |..|tag|len 1|..|tag|len 2|..|      both open when the chunk is full
 *	slot[0]    {7, offset of len 1, 0 0 0 0}
 *	slot[1]    {7, offset of len 2, 0 0 0 0}       closed: {7, ..., 9a 83 80 00}
 */

static bool patch_is_finished(const struct chunk_patch *p)
{
	return p->data[0] != 0;
}

bool patch_list_detach(struct patch_list *l, struct pb_enc *e, const struct chunk_patch *proto,
		       const uint8_t *payload)
{
	bool any = false;

	for (unsigned i = 0; i < e->depth; i++) {
		const uint8_t *field = e->nest[i].size_field;
		struct chunk_patch *p = &l->slot[i];

		if (field < e->begin || field >= e->cur)
			continue;
		assert(!(l->used & 1u << i));
		*p = *proto;
		p->offset = (uint16_t)(field - payload);
		for (unsigned k = 0; k < PB_SIZE_FIELD; k++)
			p->data[k] = 0;
		l->used |= 1u << i;
		e->nest[i].size_field = p->data;
		any = true;
	}
	return any;
}

/* Returns true if another slot waits for the same chunk. */
static bool has_more_of_chunk(const struct patch_list *l, uint32_t chunk_id)
{
	for (unsigned i = 0; i < PB_MAX_DEPTH; i++)
		if (l->used & 1u << i && l->slot[i].chunk_id == chunk_id)
			return true;
	return false;
}

bool patch_list_pop_finished(struct patch_list *l, struct chunk_patch *ret)
{
	for (unsigned i = 0; i < PB_MAX_DEPTH; i++) {
		if (!(l->used & 1u << i) || !patch_is_finished(&l->slot[i]))
			continue;
		l->used &= ~(1u << i);
		*ret = l->slot[i];
		ret->more = has_more_of_chunk(l, ret->chunk_id);
		return true;
	}
	return false;
}
