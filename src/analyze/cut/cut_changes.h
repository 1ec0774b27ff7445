/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/cut/cut_reader.h"

/* How a packet of a part differs from the packet of the trace. */
struct cut_changes {
	uint32_t payload_field; /* replaced by payload; 0: it is not */
	const struct strbuf *payload;
	bool follows; /* leaves out marks of a gap: another packet, or another part, has them */
	bool stateless; /* leaves out the incremental state, which the payload does not need */
	bool strips_state; /* replaces the fields of the incremental state by the next four: */
	bool clears; /* PACKET_STATE_CLEARED */
	const struct strbuf *defaults; /* NULL: none */
	const struct cut_sequence *interned; /* its interned data; NULL: none */
	size_t interned_from; /* the first byte of it */
	bool adds_gap; /* adds previous_packet_dropped */
};

/* Writes the packet with its changes to out, which is cleared first. Returns 0 or -ENOMEM. */
int cut_changes_build(const struct cut_packet *c, const struct cut_changes *w, struct strbuf *out);

/* Appends the fields of the incremental state, and of a gap that w adds. */
void cut_changes_add_state(struct strbuf *out, const struct cut_packet *c,
			   const struct cut_changes *w);
