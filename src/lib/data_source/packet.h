/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/data_source.h>
#include <sonda/packet.h>

#include "wire/pb_enc.h"

/* The public handle of an encoder. */
struct sonda_packet {
	struct pb_enc *enc; /* borrowed; valid while a packet is open */
	unsigned left_out; /* open messages that are too deep or invalid: left out */
};

static inline struct pb_enc *packet_enc(struct sonda_packet *p)
{
	return p->enc;
}

/* Like sonda_packet_begin(), for a packet of at most 127 bytes. Returns NULL if
 * writer_begin_small() does: use sonda_packet_begin() then. */
struct sonda_packet *packet_begin_small(struct sonda_writer *w);
