/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/packet.h>

#include "wire/pb_enc.h"

/* The public handle of an encoder. */
struct sonda_packet {
	struct pb_enc *enc; /* borrowed; valid while a packet is open */
	unsigned left_out; /* open messages that nest too deep: their fields are left out */
};

static inline struct pb_enc *packet_enc(struct sonda_packet *p)
{
	return p->enc;
}
