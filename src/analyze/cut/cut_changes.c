/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cut/cut_changes.h"

#include <errno.h>

#include "analyze/cut/cut_fields.h"
#include "gen/fields.h"

static bool is_changed(const struct cut_changes *w, const struct cut_packet *c, uint32_t field)
{
	switch (field) {
	case PB_TRACE_PACKET_INTERNED_DATA:
	case PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS:
	case PB_TRACE_PACKET_SEQUENCE_FLAGS:
	case PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED:
		return w->strips_state || w->stateless;
	case PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED:
	case PB_TRACE_PACKET_PACKETS_DROPPED:
	case PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE:
		return w->follows;
	case PB_TRACE_PACKET_TIMESTAMP:
	case PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID:
		return c->converted;
	}
	return field == w->payload_field;
}

void cut_changes_add_state(struct strbuf *out, const struct cut_packet *c,
			   const struct cut_changes *w)
{
	uint32_t flags = (w->clears ? PACKET_STATE_CLEARED : 0) |
			 (c->p.flags & ~(uint32_t)PACKET_STATE_CLEARED);

	if (flags)
		cut_put_number(out, PB_TRACE_PACKET_SEQUENCE_FLAGS, flags);
	if (w->defaults && w->defaults->len)
		cut_put_bytes(out, PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS, w->defaults->s,
			      w->defaults->len);
	if (w->interned && w->interned->interned.len > w->interned_from)
		cut_put_bytes(out, PB_TRACE_PACKET_INTERNED_DATA,
			      w->interned->interned.s + w->interned_from,
			      w->interned->interned.len - w->interned_from);
	if (w->adds_gap)
		cut_put_number(out, PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED, 1);
}

int cut_changes_build(const struct cut_packet *c, const struct cut_changes *w, struct strbuf *out)
{
	const uint8_t *at = c->data;
	struct pb_field f;
	struct pb_dec d;

	strbuf_clear(out);
	pb_dec_init(&d, c->data, c->len);
	while (pb_dec_next(&d, &f)) {
		if (!is_changed(w, c, f.id))
			strbuf_add(out, at, (size_t)(d.cur - at));
		at = d.cur;
	}
	if (c->converted) {
		cut_put_number(out, PB_TRACE_PACKET_TIMESTAMP, (uint64_t)c->own_ts);
		cut_put_number(out, PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, c->m->clocks.trace);
	}
	if (w->strips_state || w->adds_gap)
		cut_changes_add_state(out, c, w);
	if (w->payload_field)
		cut_put_bytes(out, w->payload_field, w->payload->s, w->payload->len);
	return out->failed ? -ENOMEM : 0;
}
