/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/text/str.h"
#include "wire/pb_enc.h"

/*
 * A packet of a trace with facts about it, as TraceAttributes, which readers show as metadata:
 *
 *	trace_attributes_begin(&a);
 *	trace_attributes_put(&a, "alert.starts_at", time);
 *	trace_attributes_end(&a, &bytes);
 */
struct trace_attributes {
	struct pb_mem mem;
	bool failed;
};

void trace_attributes_begin(struct trace_attributes *a);
void trace_attributes_put(struct trace_attributes *a, const char *key, const char *value);
/* Appends the bytes of the packet (Trace.packet); b->failed: memory runs out. */
void trace_attributes_end(struct trace_attributes *a, struct strbuf *b);
