/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets about the trace and its machines: clocks, kernel, CPUs, the service's events;
 * metadata.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/import/import_steps.h"
#include "analyze/import/remembered.h"
#include "base/core/mem.h"
#include "gen/fields.h"

/* ---- metadata ---- */

/* Sets all columns of a row; its value becomes NULL. name: a string. */
static void init_metadata_row(struct import *im, uint32_t row, enum metadata_scope scope,
			      const struct machine *m, uint32_t name, const char *key_type)
{
	struct table *t = import_table(im, TABLE_METADATA);

	table_set_u32(t, METADATA_NAME, row, name);
	table_set_u32(t, METADATA_KEY_TYPE, row, strings_intern_z(&im->store->strings, key_type));
	table_set_i64(t, METADATA_INT, row, NULL_I64);
	table_set_u32(t, METADATA_STR, row, NULL_U32);
	table_set_u32(t, METADATA_MACHINE, row,
		      m && (scope == SCOPE_MACHINE || scope == SCOPE_BOTH) ? m->row : NULL_U32);
	table_set_u32(t, METADATA_TRACE, row,
		      scope == SCOPE_TRACE || scope == SCOPE_BOTH ? 0 : NULL_U32);
}

static uint32_t metadata_row(struct import *im, enum metadata_scope scope, const struct machine *m,
			     const char *name, bool multi)
{
	struct table *t = import_table(im, TABLE_METADATA);
	uint32_t id = strings_intern_z(&im->store->strings, name), row;
	int64_t *known =
		multi ? NULL
		      : import_remembered(im, m ? m : im->machines[0], REMEMBER_METADATA, id);

	row = known && *known ? (uint32_t)*known - 1 : table_append(t);
	if (known)
		*known = (int64_t)row + 1;
	init_metadata_row(im, row, scope, m, id, multi ? "multi" : "single");
	return row;
}

void metadata_set_int(struct import *im, enum metadata_scope scope, const struct machine *m,
		      const char *name, bool multi, int64_t v)
{
	uint32_t row = metadata_row(im, scope, m, name, multi);

	table_set_i64(import_table(im, TABLE_METADATA), METADATA_INT, row, v);
}

void metadata_set_string(struct import *im, enum metadata_scope scope, const struct machine *m,
			 const char *name, bool multi, const void *s, size_t len)
{
	uint32_t row = metadata_row(im, scope, m, name, multi);

	table_set_u32(import_table(im, TABLE_METADATA), METADATA_STR, row,
		      strings_intern(&im->store->strings, s, len));
}

/* ---- clocks ---- */

static int64_t reading_to_ns(const struct clock_reading *r)
{
	int64_t ns;

	return __builtin_mul_overflow(r->value, r->unit, &ns) ? INT64_MAX : ns;
}

/* Adds a row for each clock. Its time is the clock's reading converted to the trace clock, or else
 * the trace clock's own reading in the snapshot. */
static void add_clock_rows(struct import *im, struct machine *m, const struct clock_reading *r,
			   size_t n, uint32_t snapshot)
{
	struct table *t = import_table(im, TABLE_CLOCK_SNAPSHOT);
	int64_t trace_ts = NULL_I64, ts;

	for (size_t i = 0; i < n; i++)
		if (r[i].clock == m->clocks.trace)
			trace_ts = r[i].value;
	for (size_t i = 0; i < n; i++) {
		uint32_t id = (uint32_t)r[i].clock, row;
		const char *name = clock_name(id);

		if (r[i].incremental ||
		    clocks_convert(&m->clocks, r[i].clock, r[i].value, &ts) != CLOCK_CONVERTED)
			ts = trace_ts;
		else
			ts = clocks_to_service_time(&m->clocks, ts);
		if (trace_ts == NULL_I64)
			trace_ts = ts;
		if (ts == NULL_I64)
			continue;
		row = table_append(t);
		table_set_i64(t, CLOCK_TS, row, ts);
		table_set_i64(t, CLOCK_CLOCK, row, id);
		table_set_u32(t, CLOCK_NAME, row,
			      name ? strings_intern_z(&im->store->strings, name) : NULL_U32);
		table_set_i64(t, CLOCK_VALUE, row, reading_to_ns(&r[i]));
		table_set_u32(t, CLOCK_SNAPSHOT, row, snapshot);
		table_set_u32(t, CLOCK_MACHINE, row, m->row);
	}
}

static void choose_trace_clock(struct import *im, struct machine *m, uint64_t primary,
			       const struct clock_reading *r, size_t n)
{
	bool has_boot = false;

	m->clocks.is_default |= primary != 0;
	if (m->clocks.has_trace || m->clocks.n_snapshots)
		return;
	for (size_t i = 0; i < n; i++)
		has_boot |= r[i].clock == CLOCK_BOOTTIME_ID;
	if (primary && primary < CLOCK_SEQUENCE_FIRST)
		m->clocks.trace = primary;
	else if (!has_boot)
		return;
	if (m->row == 0)
		metadata_set_int(im, SCOPE_GLOBAL, NULL, "trace_time_clock_id", false,
				 (int64_t)m->clocks.trace);
}

void tokenize_clock_snapshot(struct import *im, struct machine *m, const struct packet *p)
{
	struct clock_reading r[32];
	uint64_t primary = 0;
	int64_t snapshot;
	size_t n = 0;

	pb_for_each (f, &p->payload) {
		if (f.id == PB_CLOCK_SNAPSHOT_CLOCKS && f.data && n < ARRAY_SIZE(r))
			r[n++] = clock_reading_read(&f, p->sequence);
		else if (f.id == PB_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK)
			primary = f.u64;
	}
	choose_trace_clock(im, m, primary, r, n);
	snapshot = clocks_add_snapshot(&m->clocks, r, n);
	if (snapshot < 0)
		stats_add(im->store, STAT_INVALID_CLOCK_SNAPSHOTS, STAT_NO_INDEX, 1);
	else
		add_clock_rows(im, m, r, n, (uint32_t)snapshot);
}

/* ---- the machine ---- */

static void set_kernel_version(struct machine *m, const struct pb_field *f)
{
	char text[32];
	size_t n = MIN(f->len, sizeof(text) - 1);

	if (n)
		memcpy(text, f->data, n);
	text[n] = '\0';
	if (sscanf(text, "%u.%u", &m->kernel_major, &m->kernel_minor) != 2)
		m->kernel_major = m->kernel_minor = 0;
}

static void read_utsname(struct import *im, struct machine *m, const struct pb_field *utsname)
{
	static const struct {
		uint32_t field;
		const char *name;
		uint8_t column;
	} parts[] = {
		{PB_UTSNAME_SYSNAME, "system_name", MACHINE_SYSNAME},
		{PB_UTSNAME_VERSION, "system_version", MACHINE_VERSION},
		{PB_UTSNAME_RELEASE, "system_release", MACHINE_RELEASE},
		{PB_UTSNAME_MACHINE, "system_machine", MACHINE_ARCH},
	};
	struct table *t = import_table(im, TABLE_MACHINE);
	struct pb_field found[ARRAY_SIZE(parts)] = {0};

	pb_for_each (f, utsname)
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
			if (f.id == parts[i].field && f.data)
				found[i] = f;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!found[i].data) {
			metadata_row(im, SCOPE_MACHINE, m, parts[i].name, false);
			continue;
		}
		metadata_set_string(im, SCOPE_MACHINE, m, parts[i].name, false, found[i].data,
				    found[i].len);
		table_set_u32(t, parts[i].column, m->row,
			      strings_intern(&im->store->strings, found[i].data, found[i].len));
		if (parts[i].field == PB_UTSNAME_RELEASE)
			set_kernel_version(m, &found[i]);
		if (parts[i].field == PB_UTSNAME_MACHINE)
			snprintf(m->arch, sizeof(m->arch), "%.*s",
				 (int)MIN(found[i].len, (size_t)31), (const char *)found[i].data);
	}
}

/* Returns true if this version of the service flushes a session that is written into a file even if
 * its config has no flush period: sondad does, and Perfetto from v54 on. */
static bool does_service_flush_files(const struct pb_field *version)
{
	static const char perfetto[] = "Perfetto v", sonda[] = "sondad ";
	char text[32];
	size_t n = MIN(version->len, sizeof(text) - 1);
	unsigned major;
	char dot;

	if (n)
		memcpy(text, version->data, n);
	text[n] = '\0';
	if (!strncmp(text, sonda, strlen(sonda)))
		return true;
	return !strncmp(text, perfetto, strlen(perfetto)) && isdigit(text[strlen(perfetto)]) &&
	       sscanf(text + strlen(perfetto), "%3u%c", &major, &dot) == 2 && dot == '.' &&
	       major >= 54;
}

void tokenize_system_info(struct import *im, struct machine *m, const struct pb_field *info)
{
	struct table *t = import_table(im, TABLE_MACHINE);
	int64_t gb;

	pb_for_each (f, info)
		switch (f.id) {
		case PB_SYSTEM_INFO_UTSNAME:
			if (f.data)
				read_utsname(im, m, &f);
			break;
		case PB_SYSTEM_INFO_TRACING_SERVICE_VERSION:
			if (f.data)
				metadata_set_string(im, SCOPE_MACHINE, m, "tracing_service_version",
						    false, f.data, f.len);
			im->flushes_files = f.data && does_service_flush_files(&f);
			break;
		case PB_SYSTEM_INFO_TIMEZONE_OFF_MINS:
			metadata_set_int(im, SCOPE_MACHINE, m, "timezone_off_mins", false,
					 (int32_t)f.u64);
			break;
		case PB_SYSTEM_INFO_PAGE_SIZE:
			m->page_size = (uint32_t)f.u64;
			break;
		case PB_SYSTEM_INFO_NUM_CPUS:
			table_set_u32(t, MACHINE_CPUS, m->row, (uint32_t)f.u64);
			break;
		case PB_SYSTEM_INFO_SYSTEM_RAM_BYTES:
			gb = (int64_t)round((double)f.u64 / 1e9);
			metadata_set_int(im, SCOPE_MACHINE, m, "system_ram_bytes", false,
					 (int64_t)f.u64);
			metadata_set_int(im, SCOPE_MACHINE, m, "system_ram_gb", false, gb);
			table_set_i64(t, MACHINE_RAM_BYTES, m->row, (int64_t)f.u64);
			table_set_u32(t, MACHINE_RAM_GB, m->row, (uint32_t)gb);
			break;
		}
}

/* ---- the trace ---- */

static void set_trace_uuid(struct import *im, uint64_t msb, uint64_t lsb)
{
	char text[40];

	snprintf(text, sizeof(text), "%08x-%04x-%04x-%04x-%012llx", (unsigned)(msb >> 32),
		 (unsigned)(msb >> 16 & 0xffff), (unsigned)(msb & 0xffff), (unsigned)(lsb >> 48),
		 (unsigned long long)(lsb & 0xffffffffffff));
	metadata_set_string(im, SCOPE_TRACE, NULL, "trace_uuid", false, text, strlen(text));
}

void tokenize_trace_uuid(struct import *im, const struct pb_field *uuid)
{
	uint64_t msb = 0, lsb = 0;

	pb_read(uuid, PB_TO(PB_TRACE_UUID_MSB, &msb), PB_TO(PB_TRACE_UUID_LSB, &lsb));
	im->has_uuid = true;
	set_trace_uuid(im, msb, lsb);
}

#define FILL_DISCARD 2 /* TraceConfig.BufferConfig.FillPolicy */
#define MAX_BUFFERS 1024

/* For a session that was written into a file, sets a stat for each buffer that keeps what was
 * read. */
static void count_discard_buffers(struct import *im, const struct pb_field *config)
{
	int64_t buffer = 0;

	pb_for_each (f, config) {
		uint64_t policy = 0;

		if (f.id != PB_TRACE_CONFIG_BUFFERS || !f.data || buffer == MAX_BUFFERS)
			continue;
		pb_read(&f, PB_TO(PB_TRACE_CONFIG_BUFFER_CONFIG_FILL_POLICY, &policy));
		if (policy == FILL_DISCARD)
			stats_set(im->store, STAT_CONFIG_WRITE_INTO_FILE_DISCARD, buffer, 1);
		buffer++;
	}
}

/* Returns true if a linux.ftrace leaves its records in the kernel, which overwrites the oldest. */
static bool config_overwrites_rings(const struct pb_field *config)
{
	bool overwrites = false;

	pb_for_each (f, config) {
		struct pb_field source, ftrace;

		if (f.id != PB_TRACE_CONFIG_DATA_SOURCES || !f.data)
			continue;
		source = pb_inner_field(&f, PB_TRACE_CONFIG_DATA_SOURCE_CONFIG);
		if (!source.id || !source.data)
			continue;
		ftrace = pb_inner_field(&source, PB_DATA_SOURCE_CONFIG_FTRACE_CONFIG);
		if (ftrace.id && ftrace.data)
			pb_read(&ftrace, PB_TO(PB_FTRACE_CONFIG_READ_ON_FLUSH_ONLY, &overwrites));
	}
	return overwrites;
}

void tokenize_trace_config(struct import *im, const struct pb_field *config)
{
	uint64_t msb = 0, lsb = 0, into_file = 0, flush_ms = 0;
	struct pb_field name = {0};

	if (!im->config.data)
		im->config = *config;
	pb_read(config, PB_TO(PB_TRACE_CONFIG_TRACE_UUID_MSB, &msb),
		PB_TO(PB_TRACE_CONFIG_TRACE_UUID_LSB, &lsb),
		PB_TO(PB_TRACE_CONFIG_WRITE_INTO_FILE, &into_file),
		PB_TO(PB_TRACE_CONFIG_FLUSH_PERIOD_MS, &flush_ms),
		PB_TO(PB_TRACE_CONFIG_UNIQUE_SESSION_NAME, &name));
	if (name.id)
		metadata_set_string(im, SCOPE_TRACE, NULL, "unique_session_name", false, name.data,
				    name.len);
	if ((msb || lsb) && !im->has_uuid) {
		im->has_uuid = true;
		set_trace_uuid(im, msb, lsb);
	}
	if (into_file)
		count_discard_buffers(im, config);
	im->is_file_without_flush |= into_file && !flush_ms;
	im->rings_overwrite |= config_overwrites_rings(config);
}

/* Adds a row, even if the key already has one. */
static void add_attribute(struct import *im, const struct machine *m, const struct pb_field *key,
			  const struct pb_field *value)
{
	struct table *t = import_table(im, TABLE_METADATA);
	struct strbuf name = {0};
	uint32_t row = table_append(t);

	strbuf_puts(&name, "trace_attribute.");
	strbuf_add(&name, key->data, key->len);
	init_metadata_row(im, row, SCOPE_BOTH, m, strings_intern_buf(&im->store->strings, &name),
			  "single");
	strbuf_deinit(&name);
	if (value->data)
		table_set_u32(t, METADATA_STR, row,
			      strings_intern(&im->store->strings, value->data, value->len));
	else
		table_set_i64(t, METADATA_INT, row, (int64_t)value->u64);
}

void tokenize_trace_attributes(struct import *im, struct machine *m, const struct pb_field *message)
{
	pb_for_each (attribute, message) {
		struct pb_field key = {0}, value = {0};

		if (attribute.id != PB_TRACE_ATTRIBUTES_ATTRIBUTE || !attribute.data)
			continue;
		pb_for_each (f, &attribute) {
			if (f.id == PB_TRACE_ATTRIBUTES_ATTRIBUTE_KEY && f.data)
				key = f;
			else if ((f.id == PB_TRACE_ATTRIBUTES_ATTRIBUTE_LONG_VALUE && !f.data) ||
				 (f.id == PB_TRACE_ATTRIBUTES_ATTRIBUTE_STRING_VALUE && f.data))
				value = f;
		}
		if (value.id)
			add_attribute(im, m, &key, &value);
	}
}

/* ---- the service ---- */

static void add_slow_source(struct import *im, struct machine *m, const struct pb_field *source)
{
	struct pb_field producer = {0}, name = {0};
	struct strbuf text = {0};

	pb_read(source,
		PB_TO(PB_TRACING_SERVICE_EVENT_DATA_SOURCES_DATA_SOURCE_PRODUCER_NAME, &producer),
		PB_TO(PB_TRACING_SERVICE_EVENT_DATA_SOURCES_DATA_SOURCE_DATA_SOURCE_NAME, &name));
	strbuf_add(&text, producer.data, producer.data ? producer.len : 0);
	strbuf_putc(&text, ' ');
	strbuf_add(&text, name.data, name.data ? name.len : 0);
	if (text.failed)
		im->store->budget.error = -ENOMEM;
	metadata_set_string(im, SCOPE_BOTH, m, "slow_start_data_source", true, text.s, text.len);
	strbuf_deinit(&text);
}

static void add_slow_sources(struct import *im, struct machine *m, const struct pb_field *sources)
{
	pb_for_each (f, sources)
		if (f.id == PB_TRACING_SERVICE_EVENT_DATA_SOURCES_DATA_SOURCE && f.data)
			add_slow_source(im, m, &f);
}

bool tokenize_service_event(struct import *im, struct machine *m, const struct packet *p)
{
	int64_t ts = (int64_t)p->timestamp, converted;
	bool is_next_session = false;

	pb_for_each (f, &p->payload)
		switch (f.id) {
		case PB_TRACING_SERVICE_EVENT_TRACING_STARTED:
			metadata_set_int(im, SCOPE_BOTH, m, "tracing_started_ns", false, ts);
			if (clocks_convert(&m->clocks, CLOCK_BOOTTIME_ID, ts, &converted) ==
			    CLOCK_CONVERTED)
				m->tracing_started = converted;
			break;
		case PB_TRACING_SERVICE_EVENT_ALL_DATA_SOURCES_STARTED:
			metadata_set_int(im, SCOPE_BOTH, m, "all_data_source_started_ns", false,
					 ts);
			break;
		case PB_TRACING_SERVICE_EVENT_ALL_DATA_SOURCES_FLUSHED:
			metadata_set_int(im, SCOPE_BOTH, m, "all_data_source_flushed_ns", true, ts);
			break;
		case PB_TRACING_SERVICE_EVENT_TRACING_DISABLED:
			metadata_set_int(im, SCOPE_BOTH, m, "tracing_disabled_ns", false, ts);
			break;
		case PB_TRACING_SERVICE_EVENT_NEXT_SESSION_STARTED:
			is_next_session = true;
			break;
		case PB_TRACING_SERVICE_EVENT_SLOW_STARTING_DATA_SOURCES:
			if (f.data)
				add_slow_sources(im, m, &f);
			break;
		case PB_TRACING_SERVICE_EVENT_CLONE_STARTED:
			stats_set(im->store, STAT_TRACED_CLONE_STARTED_TIMESTAMP_NS, STAT_NO_INDEX,
				  ts);
			break;
		case PB_TRACING_SERVICE_EVENT_BUFFER_CLONED:
			if (f.u64 < MAX_BUFFERS)
				stats_set(im->store, STAT_TRACED_BUF_CLONE_DONE_TIMESTAMP_NS,
					  (int64_t)f.u64, ts);
			break;
		}
	return !is_next_session;
}

void tokenize_trigger(struct import *im, int64_t ts, const struct pb_field *trigger)
{
	struct pb_field name = {0};

	pb_read(trigger, PB_TO(PB_TRIGGER_TRIGGER_NAME, &name));
	metadata_set_string(im, SCOPE_TRACE, NULL, "trace_trigger", false, name.data, name.len);
	if (trigger->id == PB_TRACE_PACKET_CLONE_SNAPSHOT_TRIGGER)
		stats_set(im->store, STAT_TRACED_CLONE_TRIGGER_TIMESTAMP_NS, STAT_NO_INDEX, ts);
}

void trace_info_finish(struct import *im)
{
	if (im->is_file_without_flush && !im->flushes_files)
		stats_set(im->store, STAT_CONFIG_WRITE_INTO_FILE_NO_FLUSH, STAT_NO_INDEX, 1);
}
