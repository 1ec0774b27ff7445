/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/trace_attributes.h"

#include "gen/fields.h"

void trace_attributes_begin(struct trace_attributes *a)
{
	a->failed = pb_mem_init(&a->mem) < 0;
	if (a->failed)
		return;
	pb_enc_open(&a->mem.enc, PB_TRACE_PACKET);
	pb_enc_open(&a->mem.enc, PB_TRACE_PACKET_TRACE_ATTRIBUTES);
}

void trace_attributes_put(struct trace_attributes *a, const char *key, const char *value)
{
	struct pb_enc *e = &a->mem.enc;

	if (a->failed)
		return;
	pb_enc_open(e, PB_TRACE_ATTRIBUTES_ATTRIBUTE);
	pb_enc_str(e, PB_TRACE_ATTRIBUTES_ATTRIBUTE_KEY, key);
	pb_enc_str(e, PB_TRACE_ATTRIBUTES_ATTRIBUTE_STRING_VALUE, value);
	pb_enc_close(e);
}

void trace_attributes_end(struct trace_attributes *a, struct strbuf *b)
{
	if (a->failed) {
		b->failed = true;
		return;
	}
	pb_enc_close(&a->mem.enc);
	pb_enc_close(&a->mem.enc);
	b->failed |= a->mem.failed;
	strbuf_add(b, a->mem.buf, (size_t)pb_enc_pos(&a->mem.enc));
	pb_mem_deinit(&a->mem);
}
