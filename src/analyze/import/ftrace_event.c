/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/ftrace_event.h"

#include "gen/fields.h"

bool event_field(const struct ftrace_event *e, uint32_t number, struct pb_field *ret)
{
	struct pb_dec d = pb_dec_of(&e->message);

	while (pb_dec_next(&d, ret))
		if (ret->id == number)
			return true;
	*ret = (struct pb_field){.id = 0};
	return false;
}

uint32_t event_text(struct import *im, const struct ftrace_event *e, uint32_t number)
{
	struct pb_field f;

	event_field(e, number, &f);
	return import_intern_text(im, &f);
}

uint32_t event_function_name(struct import *im, struct machine *m, const struct ftrace_event *e,
			     uint32_t number)
{
	struct pb_field f;
	uint32_t name;

	event_field(e, number, &f);
	name = event_symbol_name(m, e, f.u64);
	if (name != NULL_U32)
		return name;
	return f.u64 ? strings_intern_f(&im->store->strings, "0x%llx", (unsigned long long)f.u64)
		     : strings_intern_z(&im->store->strings, "0");
}

uint32_t event_symbol_name(struct machine *m, const struct ftrace_event *e, uint64_t iid)
{
	uint32_t name;

	if (e->sequence_state == NULL_U32)
		return NULL_U32;
	name = sequences_string(&m->sequences, e->sequence_state, PB_INTERNED_DATA_KERNEL_SYMBOLS,
				iid);
	/* trace_processor does not look up the function that dropped a network packet. */
	if (name == NULL_U32 && e->number != PB_FTRACE_EVENT_KFREE_SKB)
		stats_add(m->sequences.store, STAT_INTERNED_DATA_TOKENIZER_ERRORS, STAT_NO_INDEX,
			  1);
	return name;
}
