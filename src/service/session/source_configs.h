/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/* The configs of the data sources as the consumer sent them, and what a producer gets: the same
 * bytes, with the fields that the service sets. A producer may compare the config with one that it
 * has from elsewhere (startup tracing of Perfetto's SDK), so fields inside nested messages stay as
 * they are, even those that this program does not know. */
struct source_configs {
	uint8_t *bytes; /* owned: a copy of the TraceConfig */
	struct pb_field *list; /* owned, by index of the config's data_sources; data: in bytes */
	size_t n;
};

/* The fields of a DataSourceConfig that the service sets. */
struct source_settings {
	uint16_t target_buffer;
	uint32_t trace_duration_ms;
	uint64_t tracing_session_id;
	bool enable_extra_guardrails;
	uint32_t stop_timeout_ms;
	bool prefer_suspend_clock_for_duration; /* false: as the consumer requested */
	bool sets_consumer_uid; /* false: Perfetto's fields only */
	uid_t consumer_uid;
};

/* Copies a TraceConfig that was decoded without errors. Returns 0, -ENOMEM, or -EMSGSIZE if the
 * config of a data source exceeds MAX_SOURCE_CONFIG_BYTES. Call deinit in either case. */
int source_configs_init(struct source_configs *c, const uint8_t *config, size_t len);
void source_configs_deinit(struct source_configs *c);

/* Writes the DataSourceConfig for a producer: the fields that Perfetto's service knows in the order
 * in which it writes them, then all others as they came. */
void source_configs_put(const struct source_configs *c, size_t index,
			const struct source_settings *set, struct pb_enc *e);
