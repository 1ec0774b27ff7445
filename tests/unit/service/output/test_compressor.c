/* SPDX-License-Identifier: Apache-2.0 */
#include <zlib.h>
#include <zstd.h>

#include "service/output/compressor.h"
#include "unit/rng.h"
#include "unit/service/rig.h"
#include "unit/service/trace_file_helper.h"
#include "unit/test.h"

/* What comes out. */
struct collector {
	struct packet_sink sink;
	struct peer_packets packets;
	size_t open; /* bytes that the packet still wants */
};

static void collect_begin(struct packet_sink *sink, size_t size)
{
	struct collector *c = container_of(sink, struct collector, sink);
	struct peer_packets *t = &c->packets;

	assert_int_equal(c->open, 0);
	t->list = realloc(t->list, (t->n + 1) * sizeof(*t->list));
	assert_non_null(t->list);
	t->list[t->n].data = malloc(size + 1);
	assert_non_null(t->list[t->n].data);
	t->list[t->n++].len = 0;
	c->open = size;
}

static void collect_bytes(struct packet_sink *sink, const void *data, size_t len)
{
	struct collector *c = container_of(sink, struct collector, sink);
	size_t last = c->packets.n - 1;

	assert_true(len <= c->open);
	memcpy(c->packets.list[last].data + c->packets.list[last].len, data, len);
	c->packets.list[last].len += len;
	c->open -= len;
}

static struct compressor *compressor_of(const char *config_text)
{
	Pb__TraceConfig *config = peer_parse_config(config_text);
	struct compressor *c;

	assert_int_equal(compressor_new(config, &c), 0);
	pb__trace_config__free_unpacked(config, NULL);
	return c;
}

/* Packet i: of any size, and content that follows from i. */
static size_t make_packet(uint64_t i, size_t max, uint8_t *ret)
{
	uint64_t rng = i * 0x9e3779b97f4a7c15ull | 1;
	size_t len = rng_below(&rng, max);

	for (size_t k = 0; k < len; k++)
		ret[k] = (uint8_t)(k & 64 ? rng_below(&rng, 256) : i);
	return len;
}

static void put(struct packet_sink *sink, const uint8_t *data, size_t len)
{
	sink->begin(sink, len);
	sink->bytes(sink, data, len / 3);
	sink->bytes(sink, data + len / 3, len - len / 3);
}

/* The packets that a packet holds, or itself. Gives how large its group was. */
static size_t unpack(const struct peer_packets *t, size_t i, struct peer_packets *ret)
{
	uLongf len = 1 << 20;
	uint8_t *raw = malloc(len);
	struct pb_field f;
	size_t n;

	assert_non_null(raw);
	if (peer_packet_field(t, i, PB_TRACE_PACKET_COMPRESSED_PACKETS, &f)) {
		assert_int_equal(uncompress(raw, &len, f.data, f.len), Z_OK);
	} else if (peer_packet_field(t, i, PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS, &f)) {
		n = ZSTD_decompress(raw, len, f.data, f.len);
		assert_false(ZSTD_isError(n));
		len = n;
	} else {
		fail();
	}
	*ret = packets_of(raw, len);
	free(raw);
	return len;
}

#define PACKETS 2000

static void check_round_trip(const char *config)
{
	struct compressor *c = compressor_of(config);
	struct collector out = {.sink = {collect_begin, collect_bytes}};
	struct packet_sink *in = compressor_sink(c, &out.sink);
	uint8_t *want = malloc(COMPRESSOR_MAX_PACKET);
	struct peer_packets t;
	uint64_t next = 0;

	assert_non_null(want);
	for (uint64_t i = 0; i < PACKETS; i++) {
		size_t len = make_packet(i, 2000, want), bound = compressor_bound(c, len);

		put(in, want, len);
		if (i % 700 == 0) {
			compressor_end_group(c);
			assert_true(out.packets.list[out.packets.n - 1].len <= bound);
		}
	}
	compressor_end_group(c);
	compressor_end_group(c); /* nothing is left, so nothing comes */
	assert_int_equal(out.open, 0);
	assert_in_range(out.packets.n, 5, 40);
	for (size_t i = 0; i < out.packets.n; i++) {
		assert_true(unpack(&out.packets, i, &t) <= COMPRESSOR_GROUP_BYTES);
		for (size_t k = 0; k < t.n; k++, next++) {
			assert_int_equal(t.list[k].len, make_packet(next, 2000, want));
			assert_memory_equal(t.list[k].data, want, t.list[k].len);
		}
		peer_packets_free(&t);
	}
	assert_int_equal(next, PACKETS);
	peer_packets_free(&out.packets);
	compressor_free(c);
	free(want);
}

TEST(what_goes_in_comes_out)
{
	check_round_trip("compression_type: COMPRESSION_TYPE_DEFLATE");
	check_round_trip("compression { deflate {} }");
	check_round_trip("compression { zstd {} }");
	check_round_trip("compression { zstd { level: -5 } }");
	check_round_trip("compression { zstd { level: 22 } }");
}

/* Of text of sixteen letters, in any order. */
static size_t packed_size(const char *config)
{
	struct compressor *c = compressor_of(config);
	struct collector out = {.sink = {collect_begin, collect_bytes}};
	uint64_t rng = 3;
	uint8_t text[5000];
	size_t size;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)('a' + rng_below(&rng, 16));
	put(compressor_sink(c, &out.sink), text, sizeof(text));
	compressor_end_group(c);
	assert_int_equal(out.packets.n, 1);
	size = out.packets.list[0].len;
	peer_packets_free(&out.packets);
	compressor_free(c);
	return size;
}

TEST(zstd_has_levels)
{
	size_t usual = packed_size("compression { zstd {} }");
	size_t most = packed_size("compression { zstd { level: 12 } }");

	assert_true(usual < 3000);
	/* A negative one does not count letters. */
	assert_true(packed_size("compression { zstd { level: -5 } }") > usual + 1000);
	assert_int_equal(packed_size("compression { zstd { level: 0 } }"), usual);
	assert_int_equal(packed_size("compression { zstd { level: 3 } }"), usual);
	assert_int_equal(packed_size("compression { zstd { level: 22 } }"), most);
}

static uint32_t format_of(const char *config)
{
	struct compressor *c = compressor_of(config);
	struct collector out = {.sink = {collect_begin, collect_bytes}};
	struct pb_field f;
	uint32_t id = 0;

	if (!c)
		return 0;
	put(compressor_sink(c, &out.sink), (const uint8_t *)"abc", 3);
	compressor_end_group(c);
	assert_int_equal(out.packets.n, 1);
	for (uint32_t i = 1; i < 1000 && !id; i++)
		id = peer_packet_field(&out.packets, 0, i, &f) ? i : 0;
	peer_packets_free(&out.packets);
	compressor_free(c);
	return id;
}

TEST(config_says_which)
{
	assert_int_equal(format_of(""), 0);
	assert_int_equal(format_of("compression {}"), 0);
	assert_int_equal(format_of("compression_type: COMPRESSION_TYPE_UNSPECIFIED"), 0);
	assert_int_equal(format_of("compression_type: COMPRESSION_TYPE_DEFLATE"), 50);
	assert_int_equal(format_of("compression { deflate {} }"), 50);
	assert_int_equal(format_of("compression { zstd {} }"), 133);
	assert_int_equal(format_of("compression_type: COMPRESSION_TYPE_DEFLATE "
				   "compression { zstd {} deflate {} }"),
			 133);
}

/* Noise does not get smaller; the bound must hold for it, too. */
TEST(noise_is_within_the_bound)
{
	static const char *const configs[] = {"compression { deflate {} }",
					      "compression { zstd { level: 12 } }"};
	uint8_t *noise = malloc(COMPRESSOR_MAX_PACKET);
	uint64_t rng = 1;

	assert_non_null(noise);
	for (size_t i = 0; i < COMPRESSOR_MAX_PACKET; i++)
		noise[i] = (uint8_t)rng_below(&rng, 256);
	for (size_t i = 0; i < ARRAY_SIZE(configs); i++)
		for (size_t len = 0; len <= COMPRESSOR_MAX_PACKET; len = len * 5 + 1) {
			struct compressor *c = compressor_of(configs[i]);
			struct collector out = {.sink = {collect_begin, collect_bytes}};
			size_t bound = compressor_bound(c, len);

			put(compressor_sink(c, &out.sink), noise, len);
			compressor_end_group(c);
			assert_true(out.packets.list[0].len <= bound);
			peer_packets_free(&out.packets);
			compressor_free(c);
		}
	free(noise);
}

TEST(large_packet_goes_as_it_is_and_in_its_place)
{
	struct compressor *c = compressor_of("compression { deflate {} }");
	struct collector out = {.sink = {collect_begin, collect_bytes}};
	struct packet_sink *in = compressor_sink(c, &out.sink);
	uint8_t *large = calloc(1, COMPRESSOR_MAX_PACKET + 1);
	struct peer_packets t;

	assert_non_null(large);
	put(in, (const uint8_t *)"abc", 3);
	put(in, large, COMPRESSOR_MAX_PACKET + 1);
	put(in, large, COMPRESSOR_MAX_PACKET);
	compressor_end_group(c);
	assert_int_equal(out.packets.n, 3);
	unpack(&out.packets, 0, &t);
	assert_int_equal(t.n, 1);
	peer_packets_free(&t);
	assert_int_equal(out.packets.list[1].len, COMPRESSOR_MAX_PACKET + 1);
	unpack(&out.packets, 2, &t);
	assert_int_equal(t.list[0].len, COMPRESSOR_MAX_PACKET);
	peer_packets_free(&t);
	peer_packets_free(&out.packets);
	compressor_free(c);
	free(large);
}
