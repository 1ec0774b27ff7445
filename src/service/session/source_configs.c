/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/source_configs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "service/ipc/limits.h"

/* The number of each field in the order of Perfetto's schema, which is not that of the ids. 0: no
 * such field. */
static const uint8_t field_order[] = {
	[1] = 1,    [2] = 2,	[11] = 3,   [3] = 4,	[122] = 5,  [7] = 6,	[6] = 7,
	[8] = 8,    [4] = 9,	[9] = 10,   [10] = 11,	[12] = 12,  [100] = 13, [102] = 14,
	[103] = 15, [104] = 16, [105] = 17, [110] = 18, [106] = 19, [107] = 20, [108] = 21,
	[116] = 22, [109] = 23, [111] = 24, [112] = 25, [113] = 26, [114] = 27, [118] = 28,
	[117] = 29, [119] = 30, [136] = 31, [101] = 32, [127] = 33, [115] = 34, [120] = 35,
	[121] = 36, [123] = 37, [124] = 38, [125] = 39, [126] = 40, [128] = 41, [129] = 42,
	[130] = 43, [131] = 44, [132] = 45, [133] = 46, [134] = 47, [135] = 48, [137] = 49,
	[138] = 50, [139] = 51, [140] = 52, [141] = 53, [142] = 54, [143] = 55, [144] = 56,
	[150] = 57,
};
#define ORDER_LEGACY_CONFIG 58
#define ORDER_FOR_TESTING 59
#define N_ORDERED 60

static size_t source_configs_order_of(uint32_t id)
{
	if (id < ARRAY_SIZE(field_order))
		return field_order[id];
	if (id == PB_DATA_SOURCE_CONFIG_LEGACY_CONFIG)
		return ORDER_LEGACY_CONFIG;
	return id == PB_DATA_SOURCE_CONFIG_FOR_TESTING ? ORDER_FOR_TESTING : 0;
}

int source_configs_init(struct source_configs *c, const uint8_t *config, size_t len)
{
	size_t cap = 0;
	struct pb_field f;
	struct pb_dec d;

	*c = (struct source_configs){.bytes = malloc(len + 1)};
	if (!c->bytes)
		return -ENOMEM;
	if (len)
		memcpy(c->bytes, config, len);
	pb_dec_init(&d, c->bytes, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id != PB_TRACE_CONFIG_DATA_SOURCES || f.wire_type != PB_WIRE_BYTES)
			continue;
		if (array_reserve(&c->list, &cap, c->n + 1, sizeof(*c->list)) < 0)
			return -ENOMEM;
		c->list[c->n] = pb_inner_field(&f, PB_TRACE_CONFIG_DATA_SOURCE_CONFIG);
		if (c->list[c->n++].len > MAX_SOURCE_CONFIG_BYTES)
			return -EMSGSIZE;
	}
	return 0;
}

void source_configs_deinit(struct source_configs *c)
{
	free(c->bytes);
	free(c->list);
	*c = (struct source_configs){0};
}

static void set_known_number(struct pb_field *known, uint32_t id, uint64_t v)
{
	known[source_configs_order_of(id)] =
		(struct pb_field){.id = id, .wire_type = PB_WIRE_VARINT, .u64 = v};
}

static void set_settings_of_source(struct pb_field *known, const struct source_settings *set)
{
	set_known_number(known, PB_DATA_SOURCE_CONFIG_TARGET_BUFFER, set->target_buffer);
	set_known_number(known, PB_DATA_SOURCE_CONFIG_TRACE_DURATION_MS, set->trace_duration_ms);
	set_known_number(known, PB_DATA_SOURCE_CONFIG_TRACING_SESSION_ID, set->tracing_session_id);
	set_known_number(known, PB_DATA_SOURCE_CONFIG_ENABLE_EXTRA_GUARDRAILS,
			 set->enable_extra_guardrails);
	set_known_number(known, PB_DATA_SOURCE_CONFIG_STOP_TIMEOUT_MS, set->stop_timeout_ms);
	set_known_number(known, PB_DATA_SOURCE_CONFIG_SESSION_INITIATOR, 0);
	if (set->prefer_suspend_clock_for_duration)
		set_known_number(known, PB_DATA_SOURCE_CONFIG_PREFER_SUSPEND_CLOCK_FOR_DURATION, 1);
}

static void source_configs_put_field(struct pb_enc *e, const struct pb_field *f)
{
	switch (f->wire_type) {
	case PB_WIRE_VARINT:
		pb_enc_u64(e, f->id, f->u64);
		break;
	case PB_WIRE_FIXED32:
		pb_enc_fixed32(e, f->id, (uint32_t)f->u64);
		break;
	case PB_WIRE_FIXED64:
		pb_enc_fixed64(e, f->id, f->u64);
		break;
	case PB_WIRE_BYTES:
		pb_enc_bytes(e, f->id, f->data, f->len);
		break;
	}
}

void source_configs_put(const struct source_configs *c, size_t index,
			const struct source_settings *set, struct pb_enc *e)
{
	struct pb_field known[N_ORDERED] = {0}, f;
	struct pb_dec d;

	pb_dec_init(&d, c->list[index].data, c->list[index].len);
	while (pb_dec_next(&d, &f))
		known[source_configs_order_of(f.id)] = f; /* [0]: not used */
	set_settings_of_source(known, set);
	for (size_t i = 1; i < N_ORDERED; i++)
		if (known[i].id)
			source_configs_put_field(e, &known[i]);
	pb_dec_init(&d, c->list[index].data, c->list[index].len);
	while (pb_dec_next(&d, &f))
		if (!source_configs_order_of(f.id) &&
		    !(set->sets_consumer_uid && f.id == PB_DATA_SOURCE_CONFIG_CONSUMER_UID))
			source_configs_put_field(e, &f);
	if (set->sets_consumer_uid)
		pb_enc_u64(e, PB_DATA_SOURCE_CONFIG_CONSUMER_UID, set->consumer_uid);
}
