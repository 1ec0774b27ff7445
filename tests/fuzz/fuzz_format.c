/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a format file of any bytes, then a record of any bytes by the row that it gives:
 *
 *	choice | format ... | 0 | record ...
 *
 * The record gets the row's id, and is no shorter than the row wants it. Whatever comes in, what
 * comes out is a message and within its bound, and the row's descriptor is one.
 *
 * choice: bit 0 columns, bit 1 the older encoding, bit 2 names of functions, bits 3 and 4 how the
 * event is represented, bit 5 it is sched/sched_switch, whatever its text says.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "ftrace/encode/compact_sched.h"
#include "ftrace/encode/event_encode.h"
#include "ftrace/events/event_table.h"
#include "wire/pb_dec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RECORD_MAX 4096

static struct sym_index syms;
static struct compact_sched columns;

static void check_message(const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		;
	assert(pb_dec_ok(&d));
}

/* One field "event", its FtraceEvent, and the event's own message. */
static void check_event(const uint8_t *data, size_t len)
{
	struct pb_dec d, event;
	struct pb_field f, e;

	pb_dec_init(&d, data, len);
	assert(pb_dec_next(&d, &f) && f.data);
	pb_dec_init(&event, f.data, f.len);
	while (pb_dec_next(&event, &e))
		if (e.data)
			check_message(e.data, e.len);
	assert(pb_dec_ok(&event));
	assert(!pb_dec_next(&d, &f) && pb_dec_ok(&d));
}

static void translate(const struct compiled_event *ev, const struct ring_record *r,
		      struct event_table *t)
{
	struct encode_ctx ctx = {.syms = &syms, .strings = &t->strings};
	size_t bound = event_encode_max_bytes(ev, r->len);
	uint8_t *out, *end;

	sym_index_clear(&syms);
	if (ev->kind == COMPILED_COMPACT_SWITCH || ev->kind == COMPILED_COMPACT_WAKING) {
		compact_sched_clear(&columns);
		if (ev->kind == COMPILED_COMPACT_SWITCH)
			compact_sched_switch(&columns, ev, r, &ctx);
		else
			compact_sched_waking(&columns, ev, r, &ctx);
		return;
	}
	out = malloc(bound);
	end = event_encode(ev, r, &ctx, out);
	assert((size_t)(end - out) <= bound);
	check_event(out, (size_t)(end - out));
	free(out);
}

/* The bytes behind the text, made long enough. */
static void put_record(struct event_table *t, const struct compiled_event *ev, const uint8_t *data,
		       size_t size)
{
	size_t len = MAX(MIN(size, RECORD_MAX), ev->min_len);
	struct ring_record r = {.time = 1, .len = (uint32_t)len};
	uint8_t *payload = calloc(1, len);

	memcpy(payload, data, MIN(size, len));
	memcpy(payload, &ev->id, sizeof(ev->id));
	r.payload = payload;
	translate(ev, &r, t);
	free(payload);
}

/* The name in the text, as the directory would have it. */
static void name_in(const char *format, char *name, size_t size)
{
	static const char head[] = "name: ";
	size_t len = 0;

	if (!strncmp(format, head, strlen(head)))
		len = MIN(strcspn(format + strlen(head), "\n"), size - 1);
	memcpy(name, format + (len ? strlen(head) : 0), len);
	name[len] = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct event_representation representation = {.group = "mine", .name = "read"};
	struct event_table_options options = {0};
	struct event_table t = {0};
	const struct compiled_event *ev;
	char *format, name[64];
	uint8_t choice;
	size_t len;
	uint16_t id;

	if (!size)
		return 0;
	choice = *data;
	options.compact = choice & 1;
	options.legacy_generic = choice & 2;
	options.symbols = choice & 4;
	representation.as = choice & 8 ? EVENT_AS_PROBE_BEGIN : EVENT_AS_FIELDS;
	data++;
	size--;
	len = strnlen((const char *)data, size);
	format = strndup((const char *)data, len);
	assert(format && !printk_formats_parse(&t.strings, "0x10 : \"a string\"\n"));
	name_in(format, name, sizeof(name));
	if (!event_table_add_as(&t, choice & 32 ? "sched" : "g", name,
				choice & 16 ? &representation : NULL, format, &options, &id)) {
		ev = event_table_get(&t, id);
		check_message(ev->descriptor, ev->descriptor_len);
		check_message(ev->further, ev->further_len);
		len += len < size; /* the 0 */
		put_record(&t, ev, data + len, size - len);
	}
	free(format);
	event_table_deinit(&t);
	return 0;
}
