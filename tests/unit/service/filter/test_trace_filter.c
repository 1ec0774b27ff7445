/* SPDX-License-Identifier: Apache-2.0 */

#include <zlib.h>

#include "service/filter/trace_filter.h"
#include "service/ipc/limits.h"
#include "unit/service/filter_words.h"
#include "unit/service/output_dir.h"
#include "unit/service/rig.h"
#include "unit/service/trace_file_helper.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

/* A session with a filter; more is the rest of the config. */
static const char *config_of(struct filter_code code, const char *rules, const char *more)
{
	static char text[8192];

	snprintf(text, sizeof(text), STAGE_CONFIG " trace_filter { bytecode_v2: %s %s } %s",
		 filter_code_text(&code), rules, more);
	return text;
}

/* Only what producers of the tests write, and of a packet nothing else. */
#define ONLY_TEXT CODE(W_TRACE, W_FIELD(PEER_FIELD), W_END)
#define AS_STRING CODE(W_TRACE, W_STRING(PEER_FIELD), W_END)
#define AS_MESSAGE CODE(W_TRACE, W_NESTED(PEER_FIELD, 2), W_END, W_FIELD(1u), W_END)
#define SECRET                                                                                     \
	"string_filter_chain { rules { policy: SFP_MATCH_REDACT_GROUPS regex_pattern: "            \
	"'secret (.*)' } } "

static unsigned count_empty(const struct peer_packets *t)
{
	unsigned n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->list[i].len == 0;
	return n;
}

static uint64_t stat_of(const struct peer_packets *t, uint32_t field)
{
	int i = peer_find_packet(t, 0, PB_TRACE_PACKET_TRACE_STATS);
	struct pb_field stats, filter, f = {0};

	assert_true(i >= 0);
	assert_true(peer_packet_field(t, (size_t)i, PB_TRACE_PACKET_TRACE_STATS, &stats));
	assert_true(peer_subfield(&stats, PB_TRACE_STATS_FILTER_STATS, &filter));
	assert_true(peer_subfield(&filter, field, &f));
	return f.u64;
}
#define STAT(t, name) stat_of(t, PB_TRACE_STATS_FILTER_STATS_##name)

/* ---- a session ---- */

STAGE_TEST(nothing_but_the_allowed_comes_out)
{
	size_t i;

	stage_start(g, config_of(ONLY_TEXT, "", ""));
	stage_write(g, 0, 1, 0, "first");
	stage_write(g, 0, 1, 1, "second");
	stage_read(g);
	assert_int_equal(peer_count_text(&g->got, "first"), 1);
	assert_int_equal(peer_count_text(&g->got, "second"), 1);
	for (i = 0; i < g->got.n; i++) {
		struct pb_field f;

		/* the statistics are no packet for a filter */
		if (peer_packet_field(&g->got, i, PB_TRACE_PACKET_TRACE_STATS, &f))
			break;
		assert_false(peer_packet_field(&g->got, i, PB_TRACE_PACKET_TRUSTED_UID, &f));
		assert_false(peer_packet_field(&g->got, i, PB_TRACE_PACKET_CLOCK_SNAPSHOT, &f));
		assert_false(peer_packet_field(&g->got, i, PB_TRACE_PACKET_TRACE_CONFIG, &f));
		assert_false(peer_packet_field(&g->got, i, PB_TRACE_PACKET_SERVICE_EVENT, &f));
	}
	assert_int_equal(i, g->got.n - 1);
	/* all packets are there, if only their number */
	assert_int_equal(count_empty(&g->got), g->got.n - 3);
	assert_int_equal(STAT(&g->got, INPUT_PACKETS), g->got.n - 1);
	assert_int_equal(STAT(&g->got, OUTPUT_BYTES),
			 3 + 5 + 3 + 6 + g->got.list[g->got.n - 1].len);
	assert_true(STAT(&g->got, INPUT_BYTES) > STAT(&g->got, OUTPUT_BYTES));
	assert_int_equal(STAT(&g->got, ERRORS), 0);
	assert_true(STAT(&g->got, TIME_TAKEN_NS) > 0);
	/* trusted_uid, the sequence and previous_packet_dropped, of the last one */
	assert_in_range(STAT(&g->got, BYTES_DISCARDED_PER_BUFFER), 8, 40);
}

STAGE_TEST(service_packets_are_filtered_inside)
{
	const struct filter_code code = CODE(W_TRACE, W_FIELD(3u), W_NESTED(6u, 2), W_FIELD(10u),
					     W_END, W_FIELD(2u), W_END);
	struct pb_field f, sub;

	stage_start(g, config_of(code, "", ""));
	stage_read(g);
	assert_int_equal(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_CLOCK_SNAPSHOT), 0);
	assert_true(peer_packet_field(&g->got, 0, PB_TRACE_PACKET_CLOCK_SNAPSHOT, &f));
	assert_true(peer_subfield(&f, PB_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK, &sub));
	assert_false(peer_subfield(&f, PB_CLOCK_SNAPSHOT_CLOCKS, &sub));
	assert_true(peer_packet_field(&g->got, 0, PB_TRACE_PACKET_TRUSTED_UID, &f));
	assert_false(peer_packet_field(&g->got, 0, PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, &f));
}

STAGE_TEST(strings_are_redacted)
{
	stage_start(g, config_of(AS_STRING, SECRET, ""));
	stage_write(g, 0, 1, 0, "secret words");
	stage_write(g, 0, 1, 1, "open words");
	stage_read(g);
	assert_int_equal(peer_count_text(&g->got, "secret P60RE"), 1);
	assert_int_equal(peer_count_text(&g->got, "open words"), 1);
	assert_int_equal(peer_count_text(&g->got, "secret words"), 0);
}

/* As a message, "hello" breaks off. */
STAGE_TEST(what_cannot_be_filtered_is_dropped_and_counted)
{
	stage_start(g, config_of(AS_MESSAGE, "", ""));
	stage_write(g, 0, 1, 0, "hello");
	stage_write(g, 0, 1, 1, "\x08\x01\x10\x02");
	stage_read(g);
	assert_int_equal(peer_count_text(&g->got, "hello"), 0);
	assert_int_equal(peer_count_text(&g->got, "\x08\x01"), 1);
	assert_int_equal(STAT(&g->got, ERRORS), 1);
	assert_int_equal(STAT(&g->got, INPUT_PACKETS), g->got.n);
}

STAGE_TEST(overlay_and_first_bytecode)
{
	const struct filter_code overlay = CODE(1, W_STRING(PEER_FIELD), 0), base = ONLY_TEXT;
	char text[4096];

	snprintf(text, sizeof(text),
		 STAGE_CONFIG " trace_filter { bytecode: %s bytecode_overlay_v54: %s " SECRET "}",
		 filter_code_text(&base), filter_code_text(&overlay));
	stage_start(g, text);
	stage_write(g, 0, 1, 0, "secret 1");
	assert_int_equal(stage_count(g, "secret P"), 1);
}

STAGE_TEST(broken_filters_refuse_the_session)
{
	uint64_t id;

	stage_refuses(g, STAGE_CONFIG " trace_filter {}", "trace_filter bytecode");
	stage_refuses(g, config_of(CODE_WRONG_BY(1, W_TRACE, W_END), "", ""), "checksum");
	id = peer_enable(g->cons, config_of(ONLY_TEXT,
					    "string_filter_chain { rules { policy: SFP_MATCH_BREAK "
					    "regex_pattern: '(' } }",
					    ""));
	assert_true(peer_tracing_ended(g->cons, id, "regex_pattern \"(\""));
	assert_true(TAILQ_EMPTY(&g->rig.sessions->list));
	/* and leave no file */
	stage_refuses(g,
		      config_of(CODE_WRONG_BY(1, W_TRACE, W_END), "",
				"write_into_file: true output_path: "
				"'/tmp/sonda-test-no-such-file'"),
		      "checksum");
	assert_int_equal(access("/tmp/sonda-test-no-such-file", F_OK), -1);
}

/* ---- where packets go ---- */

static void check_file(struct stage *g, const char *more, const char *name)
{
	char config[512];
	void *dir = NULL;

	assert_int_equal(temp_dir_setup(&dir), 0);
	snprintf(config, sizeof(config), "write_into_file: true output_path: '%s' %s",
		 temp_dir_path(&dir, 0, "t.x"), more);
	stage_start(g, config_of(AS_STRING, SECRET, config));
	stage_write(g, 0, 1, 0, "secret 1234");
	stage_free_buffers(g);
	g->got = packets_of_file(temp_dir_path(&dir, 0, name));
	assert_int_equal(peer_count_text(&g->got, "secret P60R"), 1);
	assert_int_equal(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_TRACE_CONFIG), -1);
	assert_int_equal(STAT(&g->got, INPUT_PACKETS), g->got.n - 1);
	temp_dir_teardown(&dir);
}

/* What comes while the file grows is no less filtered than what comes at its end. */
STAGE_TEST(each_write_into_a_file_is_filtered)
{
	char config[512];
	const char *path;
	void *dir = NULL;
	struct stat st = {0};

	assert_int_equal(temp_dir_setup(&dir), 0);
	path = temp_dir_path(&dir, 0, "t.x");
	snprintf(config, sizeof(config),
		 "write_into_file: true file_write_period_ms: 100 output_path: '%s'", path);
	stage_start(g, config_of(AS_STRING, SECRET, config));
	for (uint32_t i = 0; i < 3; i++) {
		off_t before = st.st_size;

		stage_write(g, i, 1, i, "secret 1234");
		stage_write(g, i + 3, 2, i, "no secret");
		rig_until(&g->rig, stat(path, &st) == 0 && st.st_size > before);
	}
	stage_free_buffers(g);
	g->got = packets_of_file(path);
	assert_int_equal(peer_count_text(&g->got, "secret P60R"), 3);
	assert_int_equal(peer_count_text(&g->got, "secret 1234"), 0);
	assert_int_equal(peer_count_text(&g->got, "no secret"), 3);
	temp_dir_teardown(&dir);
}

STAGE_TEST(rotated_files_are_filtered)
{
	check_file(g, "rotate { max_file_size_bytes: 65536 }", "t.000001.x");
}

STAGE_TEST(compressed_packets_are_filtered)
{
	uLongf len = 1 << 16;
	uint8_t *raw = malloc(len);
	struct peer_packets inner;
	struct pb_field f;

	assert_non_null(raw);
	stage_start(g, config_of(AS_STRING, SECRET, "compression { deflate {} }"));
	stage_write(g, 0, 1, 0, "secret 1234");
	stage_read(g);
	assert_true(peer_packet_field(&g->got, 0, PB_TRACE_PACKET_COMPRESSED_PACKETS, &f));
	assert_int_equal(uncompress(raw, &len, f.data, f.len), Z_OK);
	inner = packets_of(raw, len);
	assert_int_equal(peer_count_text(&inner, "secret P60R"), 1);
	assert_int_equal(peer_find_packet(&inner, 0, PB_TRACE_PACKET_TRACE_CONFIG), -1);
	peer_packets_free(&inner);
	free(raw);
}

/* ---- clones ---- */

/* A clone of the only session that others have: how often the text is in it. */
static unsigned count_in_clone(struct stage *g, uint64_t session, bool skip, uint64_t flags,
			       const char *text)
{
	struct peer *cloner = rig_consumer(&g->rig);
	struct pb_field f;
	struct pb_mem m;
	uint64_t id;
	unsigned n;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_u64(&m.enc, PB_CLONE_SESSION_REQUEST_SESSION_ID, session);
	pb_enc_bool(&m.enc, PB_CLONE_SESSION_REQUEST_SKIP_TRACE_FILTER, skip);
	id = peer_call_mem(cloner, C_CLONE, &m);
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	assert_int_equal(peer_number(&f, CMD(FLUSH_FLAGS)), flags);
	stage_ack_flush(g, &f);
	assert_true(peer_accepted(cloner, id));
	assert_true(peer_field(cloner, PB_CLONE_SESSION_RESPONSE_SUCCESS, &f) && f.u64);
	peer_packets_free(&g->got);
	assert_true(peer_read(cloner, &g->got));
	n = peer_count_text(&g->got, text);
	assert_int_equal(count_empty(&g->got) > 0, peer_find_packet(&g->got, 0, 33) < 0);
	rig_hang_up(&g->rig, cloner);
	return n;
}

#define CLONE_FLAGS (FLUSH_REASON_CLONE | FLUSH_BY_SERVICE)

STAGE_TEST(clones_are_filtered_unless_asked)
{
	stage_start(g, config_of(AS_STRING, SECRET, "bugreport_score: 1"));
	stage_write(g, 0, 1, 0, "secret 1234");
	assert_int_equal(count_in_clone(g, 1, false, CLONE_FLAGS, "secret P60R"), 1);
	assert_int_equal(count_in_clone(g, 1, true, CLONE_FLAGS, "secret 1234"), 1);
	assert_int_equal(count_in_clone(g, UINT64_MAX, false, CLONE_FLAGS | FLUSH_FOR_BUGREPORT,
					"secret 1234"),
			 1);
	/* the session itself is read through its filter as before, and its figures are its own */
	assert_int_equal(stage_count(g, "secret P60R"), 1);
}

/* ---- the filter by itself ---- */

static struct trace_filter *filter_of(struct filter_code code, const char *rules)
{
	Pb__TraceConfig *c = peer_parse_config(config_of(code, rules, ""));
	struct trace_filter *f;
	struct err_text e;

	if (trace_filter_new(c, &e, &f) < 0)
		fail_msg("%s", e.text);
	pb__trace_config__free_unpacked(c, NULL);
	return f;
}

TEST_WITH(config_without_a_filter_has_none, NULL, NULL)
{
	Pb__TraceConfig *c = peer_parse_config(STAGE_CONFIG);
	struct trace_filter *f = (struct trace_filter *)state;

	assert_int_equal(trace_filter_new(c, NULL, &f), 0);
	assert_null(f);
	trace_filter_free(f);
	pb__trace_config__free_unpacked(c, NULL);
}

/* A packet of that many bytes of text, in slices of any size, with a trailer. */
static void check_slices(struct trace_filter *f, size_t text, size_t slice)
{
	static const uint8_t trailer[] = {3 << 3, 7, 10 << 3, 9};
	uint8_t *packet = malloc(text + 16), *p = packet;
	const uint8_t *got;
	struct iovec slices[64];
	struct trace_filter_input in = {
		.slices = slices, .trailer = trailer, .trailer_len = sizeof(trailer)};
	size_t len;

	assert_non_null(packet);
	*p++ = 8 << 3; /* is not allowed */
	*p++ = 1;
	p = pb_put_varint(p, pb_tag(PEER_FIELD, PB_WIRE_BYTES));
	p = pb_put_varint(p, text);
	memset(p, 'x', text);
	in.size = (size_t)(p - packet) + text;
	for (size_t at = 0; at < in.size; at += slice) {
		assert_true(in.n_slices < ARRAY_SIZE(slices));
		slices[in.n_slices++] = (struct iovec){packet + at, MIN(slice, in.size - at)};
	}
	assert_int_equal(trace_filter_apply(f, &in, &got, &len), 0);
	/* of the trailer only the sequence stays */
	assert_int_equal(len, in.size - 2 + 2);
	assert_memory_equal(got, packet + 2, in.size - 2);
	assert_memory_equal(got + in.size - 2, "\x50\x09", 2);
	free(packet);
}

TEST(slices_and_large_packets)
{
	struct trace_filter *f =
		filter_of(CODE(W_TRACE, W_FIELD(10u), W_FIELD(PEER_FIELD), W_END), "");

	check_slices(f, 50, 1000);
	for (size_t slice = 1; slice < 60; slice += 3)
		check_slices(f, 50, slice);
	check_slices(f, 5 << 20, 1 << 17);
	check_slices(f, 0, 2);
	check_slices(f, 300000, 300016);
	trace_filter_free(f);
}

/* A text that takes an expression long is work, and one that takes too long is not given out. */
TEST(expressions_are_work)
{
	const char *rules = "string_filter_chain { rules { policy: SFP_MATCH_REDACT_GROUPS "
			    "regex_pattern: '((a|b)*){50}c' } } ";
	struct trace_filter *f = filter_of(AS_STRING, rules);
	uint8_t *packet = malloc(1 << 20), *p;
	const uint8_t *got;
	struct iovec slice = {.iov_base = packet};
	struct trace_filter_input in = {.slices = &slice, .n_slices = 1};
	size_t len;

	assert_non_null(packet);
	for (size_t text = 100; text <= 100000; text *= 1000) {
		p = pb_put_varint(packet, pb_tag(PEER_FIELD, PB_WIRE_BYTES));
		p = pb_put_varint(p, text);
		memset(p, 'a', text);
		in.size = slice.iov_len = (size_t)(p - packet) + text;
		assert_int_equal(trace_filter_apply(f, &in, &got, &len), text > 100 ? -E2BIG : 0);
		assert_in_range(trace_filter_extra_work(f), text > 100 ? 100000 : 1000,
				MAX_FILTER_STEPS / 8);
		assert_int_equal(trace_filter_extra_work(f), 0);
	}
	free(packet);
	trace_filter_free(f);
}

TEST_GROUP(output_dir_start, output_dir_end)
