/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace/extensions.h"
#include "unit/service/rig.h"
#include "unit/test.h"

/* The data field of a packet: the one that says what kind it is. */
static uint32_t kind_of(const struct peer_packets *t, size_t i)
{
	static const uint32_t kinds[] = {
		PB_TRACE_PACKET_CLOCK_SNAPSHOT,
		PB_TRACE_PACKET_SYNCHRONIZATION_MARKER,
		PB_TRACE_PACKET_TRACE_CONFIG,
		PB_TRACE_PACKET_TRACE_UUID,
		PB_TRACE_PACKET_TRACE_PROVENANCE,
		PB_TRACE_PACKET_SYSTEM_INFO,
		PB_TRACE_PACKET_SERVICE_EVENT,
		PB_TRACE_PACKET_TRACE_STATS,
		PEER_FIELD,
	};
	struct pb_field f;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		if (peer_packet_field(t, i, kinds[k], &f))
			return kinds[k];
	return 0;
}

static bool is_event(const struct peer_packets *t, size_t i, uint32_t field)
{
	struct pb_field f;

	return peer_packet_field(t, i, PB_TRACE_PACKET_SERVICE_EVENT, &f) &&
	       peer_number(&f, field) == 1;
}

STAGE_TEST(packets_come_in_the_order_of_the_protocol)
{
	static const uint32_t order[] = {
		PB_TRACE_PACKET_CLOCK_SNAPSHOT,
		PB_TRACE_PACKET_SYNCHRONIZATION_MARKER,
		PB_TRACE_PACKET_TRACE_CONFIG,
		PB_TRACE_PACKET_TRACE_UUID,
		PB_TRACE_PACKET_TRACE_PROVENANCE,
		PB_TRACE_PACKET_SYSTEM_INFO,
		PB_TRACE_PACKET_SERVICE_EVENT,
		PB_TRACE_PACKET_SERVICE_EVENT,
		PEER_FIELD,
		PB_TRACE_PACKET_SERVICE_EVENT,
		PB_TRACE_PACKET_TRACE_STATS,
	};

	stage_start(g, STAGE_CONFIG);
	stage_write(g, 0, 1, 0, "data");
	stage_read(g);
	assert_int_equal(g->got.n, sizeof(order) / sizeof(order[0]));
	for (size_t i = 0; i < g->got.n; i++)
		assert_int_equal(kind_of(&g->got, i), order[i]);
	assert_true(is_event(&g->got, 6, PB_TRACING_SERVICE_EVENT_TRACING_STARTED));
	assert_true(is_event(&g->got, 7, PB_TRACING_SERVICE_EVENT_ALL_DATA_SOURCES_STARTED));
	assert_true(is_event(&g->got, 9, PB_TRACING_SERVICE_EVENT_READ_TRACING_BUFFERS_COMPLETED));
}

STAGE_TEST(all_are_on_the_services_sequence)
{
	struct pb_field f;

	stage_start(g, STAGE_CONFIG);
	stage_read(g);
	for (size_t i = 0; i < g->got.n; i++) {
		assert_true(peer_packet_field(&g->got, i, PB_TRACE_PACKET_TRUSTED_UID, &f));
		assert_int_equal(f.u64, getuid());
		assert_true(peer_packet_field(&g->got, i,
					      PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, &f));
		assert_int_equal(f.u64, 1);
		assert_false(peer_packet_field(&g->got, i, PB_TRACE_PACKET_TRUSTED_PID, &f));
		if (kind_of(&g->got, i) != PB_TRACE_PACKET_SYNCHRONIZATION_MARKER) {
			assert_true(peer_packet_field(&g->got, i,
						      PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, &f));
			assert_int_equal(f.u64, 6);
		}
	}
}

STAGE_TEST(second_reading_says_only_what_is_new)
{
	stage_start(g, STAGE_CONFIG);
	stage_read(g);
	stage_read(g);
	assert_int_equal(g->got.n, 1);
	assert_true(is_event(&g->got, 0, PB_TRACING_SERVICE_EVENT_READ_TRACING_BUFFERS_COMPLETED));
}

STAGE_TEST(marker_is_last_in_its_packet)
{
	static const uint8_t marker[] = {0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba,
					 0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79};
	struct pb_field f;
	int i;

	stage_start(g, STAGE_CONFIG);
	stage_read(g);
	i = peer_find_packet(&g->got, 0, PB_TRACE_PACKET_SYNCHRONIZATION_MARKER);
	assert_true(i >= 0);
	assert_true(g->got.list[i].len > sizeof(marker));
	assert_memory_equal(g->got.list[i].data + g->got.list[i].len - sizeof(marker), marker,
			    sizeof(marker));
	assert_false(peer_packet_field(&g->got, (size_t)i, PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, &f));
}

STAGE_TEST(config_comes_back_with_what_nobody_knows)
{
	struct pb_field f, v;
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_open(&m.enc, PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG);
	pb_enc_raw(&m.enc, "\x0a\x02\x08\x40", 4); /* buffers { size_kb: 64 } */
	pb_enc_str(&m.enc, 20005, "tomorrow");
	pb_enc_close(&m.enc);
	g->enable = peer_call_mem(g->cons, C_ENABLE, &m);
	assert_true(peer_is_quiet(g->cons));
	stage_read(g);
	stage_field(g, PB_TRACE_PACKET_TRACE_CONFIG, &f);
	assert_true(peer_subfield(&f, 20005, &v));
	assert_memory_equal(v.data, "tomorrow", v.len);
	assert_true(peer_subfield(&f, PB_TRACE_CONFIG_BUFFERS, &v));
}

STAGE_TEST(config_of_any_size_is_echoed)
{
	char *config = malloc(200000), *end;
	struct pb_field f;

	assert_non_null(config);
	end = config + sprintf(config, "buffers { size_kb: 4 } activate_triggers: '");
	memset(end, 't', 130900);
	strcpy(end + 130900, "'");
	peer_enable(g->cons, config);
	free(config);
	assert_true(peer_is_quiet(g->cons));
	stage_read(g);
	stage_field(g, PB_TRACE_PACKET_TRACE_CONFIG, &f);
	assert_true(f.len > 130900);
}

STAGE_TEST(builtin_sources_can_be_turned_off)
{
	g->enable =
		peer_enable(g->cons, "buffers { size_kb: 4 } builtin_data_sources { "
				     "disable_clock_snapshotting: true disable_trace_config: true "
				     "disable_system_info: true disable_service_events: true }");
	assert_true(peer_is_quiet(g->cons));
	stage_read(g);
	assert_int_equal(g->got.n, 4);
	assert_int_equal(kind_of(&g->got, 0), PB_TRACE_PACKET_SYNCHRONIZATION_MARKER);
	assert_int_equal(kind_of(&g->got, 1), PB_TRACE_PACKET_TRACE_UUID);
	assert_int_equal(kind_of(&g->got, 2), PB_TRACE_PACKET_TRACE_PROVENANCE);
	assert_int_equal(kind_of(&g->got, 3), PB_TRACE_PACKET_TRACE_STATS);
}

/* The service's own are at the head of each trace, unless its config wants none. */
STAGE_TEST(extensions_are_at_the_head)
{
	static uint8_t set_bytes[] = {0x0a, 0x00}, zipped[] = {0x1f, 0x8b, 0};
	static const struct extensions x = {
		.list = {{set_bytes, sizeof(set_bytes), false}, {zipped, sizeof(zipped), true}},
		.n = 2,
	};
	struct pb_field f, set;
	int i;

	g->rig.sessions->trace_env.extensions = &x;
	stage_start(g, STAGE_CONFIG);
	stage_write(g, 0, 1, 0, "data");
	stage_read(g);
	i = peer_find_packet(&g->got, 0, PB_TRACE_PACKET_EXTENSION_DESCRIPTOR);
	assert_in_range(i, 0, peer_find_packet(&g->got, 0, PEER_FIELD));
	assert_true(
		peer_packet_field(&g->got, (size_t)i, PB_TRACE_PACKET_EXTENSION_DESCRIPTOR, &f));
	assert_true(peer_subfield(&f, PB_EXTENSION_DESCRIPTOR_EXTENSION_SET, &set));
	assert_int_equal(set.len, 2);
	i = peer_find_packet(&g->got, (size_t)i + 1, PB_TRACE_PACKET_EXTENSION_DESCRIPTOR);
	assert_true(i > 0);
	assert_true(
		peer_packet_field(&g->got, (size_t)i, PB_TRACE_PACKET_EXTENSION_DESCRIPTOR, &f));
	assert_true(peer_subfield(&f, PB_EXTENSION_DESCRIPTOR_EXTENSION_SET_GZIP, &set));
	assert_int_equal(set.len, 3);
	stage_read(g);
	assert_int_equal(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_EXTENSION_DESCRIPTOR), -1);
	stage_free_buffers(g);
	peer_enable(g->cons, "buffers { size_kb: 4 } "
			     "builtin_data_sources { disable_extension_descriptors: true }");
	stage_read(g);
	assert_true(g->got.n > 0);
	assert_int_equal(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_EXTENSION_DESCRIPTOR), -1);
}

STAGE_TEST(snapshot_names_the_primary_clock)
{
	static const struct {
		const char *config;
		uint64_t clock;
	} cases[] = {{"", 6},
		     {"builtin_data_sources { primary_trace_clock: BUILTIN_CLOCK_MONOTONIC }", 3}};
	struct pb_field f, clock;

	for (size_t i = 0; i < 2; i++) {
		peer_enable(g->cons, cases[i].config);
		assert_true(peer_is_quiet(g->cons));
		stage_read(g);
		assert_true(peer_packet_field(&g->got, 0, PB_TRACE_PACKET_CLOCK_SNAPSHOT, &f));
		assert_int_equal(peer_number(&f, PB_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK),
				 cases[i].clock);
		assert_true(peer_subfield(&f, PB_CLOCK_SNAPSHOT_CLOCKS, &clock));
		assert_true(peer_number(&clock, PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP) > 0);
		assert_true(peer_accepted(g->cons, peer_call(g->cons, C_FREE, NULL, 0)));
		assert_true(peer_next(g->cons));
	}
}

STAGE_TEST(provenance_names_producers_of_sequences)
{
	struct pb_field f, buffer, sequence;

	stage_start(g, STAGE_CONFIG);
	stage_write(g, 0, 9, 0, "data");
	stage_read(g);
	stage_field(g, PB_TRACE_PACKET_TRACE_PROVENANCE, &f);
	assert_true(peer_subfield(&f, PB_TRACE_PROVENANCE_BUFFERS, &buffer));
	assert_true(peer_subfield(&buffer, PB_TRACE_PROVENANCE_BUFFER_SEQUENCES, &sequence));
	assert_int_equal(peer_number(&sequence, PB_TRACE_PROVENANCE_SEQUENCE_ID), 2);
	assert_int_equal(peer_number(&sequence, PB_TRACE_PROVENANCE_SEQUENCE_PRODUCER_ID), 1);
}

STAGE_TEST(system_is_described)
{
	struct pb_field f, v;

	stage_start(g, STAGE_CONFIG);
	stage_read(g);
	stage_field(g, PB_TRACE_PACKET_SYSTEM_INFO, &f);
	assert_true(peer_subfield(&f, PB_SYSTEM_INFO_UTSNAME, &v));
	assert_true(peer_subfield(&v, PB_UTSNAME_SYSNAME, &v));
	assert_memory_equal(v.data, "Linux", 5);
	assert_true(peer_subfield(&f, PB_SYSTEM_INFO_TRACING_SERVICE_VERSION, &v));
	assert_int_equal(peer_number(&f, PB_SYSTEM_INFO_PAGE_SIZE), sysconf(_SC_PAGESIZE));
	assert_int_equal(peer_number(&f, PB_SYSTEM_INFO_NUM_CPUS), sysconf(_SC_NPROCESSORS_CONF));
	assert_true(peer_number(&f, PB_SYSTEM_INFO_SYSTEM_RAM_BYTES) > 1 << 20);
}
