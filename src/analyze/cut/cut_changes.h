/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/cut/cut_reader.h"

/* How a packet of a part differs from that of the trace. */
struct cut_changes {
	uint32_t payload_field; /* replaced by payload; 0: it is not */
	const struct strbuf *payload;
	bool follows; /* another part has the packet's first piece: marks of a gap are there */
	bool stateless; /* it needs no incremental state, and has none */
	bool strips_state; /* fields of the incremental state are below: */
	bool clears;
	const struct strbuf *defaults; /* NULL: none */
	const struct cut_sequence *interned; /* NULL: none; from this byte on: */
	size_t interned_from;
	bool adds_gap;
};

/* Writes the packet with its changes to out, which is cleared first. Returns 0 or -ENOMEM. */
int cut_changes_build(const struct cut_packet *c, const struct cut_changes *w, struct strbuf *out);

/* Appends the fields of the incremental state. */
void cut_changes_add_state(struct strbuf *out, const struct cut_packet *c,
			   const struct cut_changes *w);
