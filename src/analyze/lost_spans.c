// SPDX-License-Identifier: Apache-2.0
#include "analyze/lost_spans.h"

#include <stdlib.h>

#include "base/mem.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"

void lost_spans_deinit(struct lost_spans *l)
{
	free(l->spans);
	*l = (struct lost_spans){0};
}

bool lost_spans_add(struct lost_spans *l, uint32_t cpu, const uint8_t *data, size_t len)
{
	struct lost_span s = {.cpu = cpu};
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		switch (f.id) {
		case PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_BEGIN_TIMESTAMP:
			s.begin_ns = f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_END_TIMESTAMP:
			s.end_ns = f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_EVENT_COUNT:
			s.events = f.u64;
			break;
		}
	if (!pb_dec_ok(&d) || s.end_ns < s.begin_ns)
		return false;
	if (l->n >= LOST_SPANS_MAX ||
	    array_reserve(&l->spans, &l->cap, l->n + 1, sizeof(*l->spans)))
		l->left_out++;
	else
		l->spans[l->n++] = s;
	return true;
}
