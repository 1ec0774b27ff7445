/* SPDX-License-Identifier: Apache-2.0 */

#include "service/filter/packet_validate.h"
#include "service/ipc/limits.h"
#include "unit/fixture.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/* ---- packets ---- */

static struct pb_mem message;

SETUP
{
	assert_int_equal(pb_mem_init(&message), 0);
}

TEARDOWN
{
	pb_mem_deinit(&message);
}

/* The message as a packet in slices of n bytes, each in memory of its own size. */
static bool accepts_in_slices(const void *data, size_t len, size_t n)
{
	size_t n_slices = len ? (len + n - 1) / n : 0;
	struct iovec *slices = test_calloc(n_slices + 1, sizeof(*slices));
	bool accepted;

	for (size_t i = 0; i < n_slices; i++) {
		size_t part = MIN(n, len - i * n);

		slices[i].iov_base = malloc(part);
		assert_non_null(slices[i].iov_base);
		memcpy(slices[i].iov_base, (const char *)data + i * n, part);
		slices[i].iov_len = part;
	}
	accepted = packet_is_valid(slices, n_slices);
	for (size_t i = 0; i < n_slices; i++)
		free(slices[i].iov_base);
	test_free(slices);
	return accepted;
}

/* However it is cut, the answer is the same. */
static bool accepts(const void *data, size_t len)
{
	bool accepted = accepts_in_slices(data, len, len ? len : 1);

	for (size_t n = 1; n < MIN(len, 40); n++)
		assert_int_equal(accepts_in_slices(data, len, n), accepted);
	return accepted;
}

static bool accepts_message(void)
{
	return accepts(message.enc.begin, pb_mem_len(&message));
}

/* ---- what may pass ---- */

FIXTURE_TEST(a_packet_with_all_types_of_fields)
{
	struct pb_enc *e = &message.enc;

	pb_enc_u64(e, 8, UINT64_MAX);
	pb_enc_fixed64(e, 1000, UINT64_MAX);
	pb_enc_fixed32(e, 1001, UINT32_MAX);
	pb_enc_open(e, 1);
	for (unsigned i = 0; i < 300; i++)
		pb_enc_u64(e, i + 1, i);
	pb_enc_close(e);
	pb_enc_bytes(e, (1u << 29) - 1, "", 0);
	pb_enc_bool(e, 87, true);
	assert_true(accepts_message());
}

/* Fields that look like the service's own, and still are a producer's to write. */
FIXTURE_TEST(what_producers_may_write)
{
	static const uint32_t fields[] = {1,  2,  4,  6,  8,   9,   11,	 32,  34,  37,	42,
					  45, 46, 49, 51, 58,  59,  68,	 70,  72,  78,	80,
					  87, 89, 97, 99, 107, 113, 123, 126, 132, 134, 20000};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		pb_enc_u64(&message.enc, fields[i], 1);
	assert_true(accepts_message());
}

/* Reserved numbers deeper down belong to other messages. */
FIXTURE_TEST(contents_are_not_looked_at)
{
	pb_enc_open(&message.enc, 1);
	pb_enc_u64(&message.enc, 3, 0);
	pb_enc_u64(&message.enc, 10, 1);
	pb_enc_close(&message.enc);
	pb_enc_bytes(&message.enc, 900, "\xff\xff\xff\xff", 4);
	assert_true(accepts_message());
}

/* ---- what may not ---- */

FIXTURE_TEST(reserved_fields_with_any_value)
{
	static const uint32_t fields[] = {3, 10, 33, 35, 36, 50, 69, 79, 98, 124, 125, 133};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		static const int64_t values[] = {0, 1, -1, 42};

		for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
			pb_mem_reset(&message);
			pb_enc_u64(&message.enc, 8, 1);
			pb_enc_i64(&message.enc, fields[i], values[k]);
			pb_enc_u64(&message.enc, 8, 2);
			assert_false(accepts_message());
		}
		pb_mem_reset(&message);
		pb_enc_bytes(&message.enc, fields[i], "", 0);
		assert_false(accepts_message());
		pb_mem_reset(&message);
		pb_enc_fixed32(&message.enc, fields[i], 0);
		assert_false(accepts_message());
		pb_mem_reset(&message);
		pb_enc_fixed64(&message.enc, fields[i], 0);
		assert_false(accepts_message());
	}
}

FIXTURE_TEST(every_truncation)
{
	size_t len, starts[8], n = 0;
	struct pb_enc *e = &message.enc;

	starts[n++] = 0;
	pb_enc_u64(e, 8, 1000000);
	starts[n++] = pb_mem_len(&message);
	pb_enc_fixed64(e, 1000, 1);
	starts[n++] = pb_mem_len(&message);
	pb_enc_fixed32(e, 1001, 1);
	starts[n++] = pb_mem_len(&message);
	pb_enc_str(e, 900,
		   "a string that is longer than the 127 bytes of a short length: "
		   "................................................................"
		   "................................................................");
	len = pb_mem_len(&message);
	starts[n++] = len;
	for (size_t cut = 0; cut <= len; cut++) {
		bool at_start = false;

		for (size_t i = 0; i < n; i++)
			at_start |= starts[i] == cut;
		assert_int_equal(accepts(message.enc.begin, cut), at_start);
	}
}

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})
#define X9 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff /* of a varint of ten bytes */
#define Z8 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80

TEST(bytes_of_which_some_are_packets)
{
	const struct {
		const char *what;
		bool is_packet;
		const uint8_t *bytes;
		size_t len;
	} rows[] = {
		{"nothing", true, BYTES()},
		{"a string", true, BYTES(0xa2, 0x38, 2, 'h', 'i')},
		{"a value of 64 bits", true, BYTES(0x40, X9, 1)},
		{"a value of 65 bits", false, BYTES(0x40, X9, 2)},
		{"a value of eleven bytes", false, BYTES(0x40, X9, 0x81, 0)},
		{"the reserved field 3", false, BYTES(0x18, 1)},
		{"the same, in two bytes", false, BYTES(0x98, 0, 1)},
		{"the same, in ten bytes", false, BYTES(0x98, Z8, 0, 1)},
		/* More than 32 bits: some readers would cut it down to 3. */
		{"a number of 34 bits", false, BYTES(0x98, 0x80, 0x80, 0x80, 0x80, 1, 1)},
		{"a number of 65 bits", false, BYTES(0x98, Z8, 2, 1)},
		{"a group", false, BYTES(0x43, 0x44)},
		{"the end of a group", false, BYTES(0x44)},
		{"wire type 6", false, BYTES(0x46, 0)},
		{"wire type 7", false, BYTES(0x47, 0)},
		{"field 0", false, BYTES(0, 1)},
		{"field 0, of bytes", false, BYTES(2, 0)},
		{"field 2^29 - 1", true, BYTES(0xf8, 0xff, 0xff, 0xff, 0x0f, 1)},
		{"field 2^29", false, BYTES(0x80, 0x80, 0x80, 0x80, 0x10, 1)},
		{"a length past the end", false, BYTES(0xa2, 0x38, 1)},
		{"a length of 64 bits", false, BYTES(0xa2, 0x38, X9, 1)},
	};

	assert_true(packet_is_valid(NULL, 0));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (accepts(rows[i].bytes, rows[i].len) != rows[i].is_packet)
			fail_msg("%s", rows[i].what);
}

/* The check looks at each of them, for as long as that takes. */
TEST(a_packet_of_too_many_fields_is_none)
{
	size_t len = 2 * (MAX_PACKET_FIELDS + 1);
	uint8_t *fields = malloc(len);
	struct iovec slice = {fields, len - 2};

	assert_non_null(fields);
	for (size_t i = 0; i < len; i += 2)
		memcpy(fields + i, "\x40\x01", 2);
	assert_true(packet_is_valid(&slice, 1));
	slice.iov_len = len;
	assert_false(packet_is_valid(&slice, 1));
	free(fields);
}

TEST(lengths_past_the_limit)
{
	uint8_t head[] = {0xa2, 0x38, 0, 0, 0, 0, 0}; /* 900, bytes */
	struct iovec slices[3];
	uint8_t *big = calloc(1, PB_MAX_MESSAGE + 1u);

	assert_non_null(big);
	slices[0] = (struct iovec){head, (size_t)(pb_put_varint(head + 2, PB_MAX_MESSAGE) - head)};
	slices[1] = (struct iovec){big, PB_MAX_MESSAGE};
	assert_true(packet_is_valid(slices, 2));
	slices[0] =
		(struct iovec){head, (size_t)(pb_put_varint(head + 2, PB_MAX_MESSAGE + 1u) - head)};
	slices[1] = (struct iovec){big, PB_MAX_MESSAGE + 1u};
	assert_false(packet_is_valid(slices, 2));
	free(big);
}

/* Slices without bytes are no end. */
FIXTURE_TEST(empty_slices)
{
	uint8_t a[] = {0xa2}, b[] = {0x38, 0x02, 'x'}, c[] = {'y'}, none[1];
	struct iovec slices[] = {{none, 0}, {a, 1}, {none, 0}, {none, 0},
				 {b, 3},    {c, 1}, {none, 0}};

	assert_true(packet_is_valid(slices, ARRAY_SIZE(slices)));
	assert_false(packet_is_valid(slices, 5));
}

/* ---- the trailer ---- */

/* The fields of a trailer, as "NUMBER:VALUE ". */
static void check_trailer(const struct trace_packet *p, uint32_t sequence_id, const char *expected)
{
	uint8_t *buf = malloc(PACKET_MAX_TRAILER);
	char text[256] = "";
	struct pb_field f;
	struct pb_dec d;

	assert_non_null(buf);
	pb_dec_init(&d, buf, packet_put_trailer(buf, p, sequence_id));
	while (pb_dec_next(&d, &f)) {
		assert_int_equal(f.wire_type, PB_WIRE_VARINT);
		sprintf(text + strlen(text), "%u:%lld ", f.id, (long long)f.u64);
	}
	assert_true(pb_dec_ok(&d));
	assert_string_equal(text, expected);
	free(buf);
}

/* trusted_uid 3, trusted_packet_sequence_id 10, trusted_pid 79, machine_id 98,
 * previous_packet_dropped 42 */
TEST(trailers_tell_who_wrote_and_what_is_lost)
{
	static const struct {
		struct trace_buffer_writer writer;
		uint32_t loss, sequence_id;
		const char *trailer;
	} rows[] = {
		{{.uid = 1000, .pid = 4711}, 0, 12, "3:1000 10:12 79:4711 "},
		/* root's uid is written, though it is 0 */
		{{.pid = 1}, 0, 2, "3:0 10:2 79:1 "},
		/* an unknown PID is left out */
		{{.uid = 5}, 0, 2, "3:5 10:2 "},
		{{.uid = 5, .pid = -1}, 0, 2, "3:5 10:2 "},
		/* another machine */
		{{.uid = (uid_t)-1, .machine_id = UINT32_MAX}, 0, 12, "3:-1 10:12 98:4294967295 "},
		{{.uid = 5, .pid = 6},
		 DATA_LOSS_PRESENT | DATA_LOSS_OVERWRITE,
		 2,
		 "3:5 10:2 79:6 42:65 "},
		/* the largest one fits */
		{{.uid = UINT32_MAX, .pid = INT32_MAX, .machine_id = UINT32_MAX},
		 UINT32_MAX,
		 UINT32_MAX,
		 "3:-1 10:4294967295 79:2147483647 98:4294967295 42:4294967295 "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct trace_packet p = {.writer = rows[i].writer, .loss = rows[i].loss};

		p.writer.producer_id = 1;
		check_trailer(&p, rows[i].sequence_id, rows[i].trailer);
	}
}

static uint32_t state_of(const uint8_t *bytes, size_t len, size_t cut)
{
	struct iovec slices[2] = {{(void *)bytes, cut}, {(void *)(bytes + cut), len - cut}};

	return packet_state_flags(slices, 2);
}

TEST(incremental_state_is_read_over_slices)
{
	/* timestamp 5, sequence_flags 3 or 2, for a field of bytes that looks like more of them */
	static const uint8_t both[] = {0x40, 5, 0x68, 3, 0x7a, 2, 0x68, 1};
	static const uint8_t needed[] = {0x7a, 2, 0x68, 1, 0x68, 2};
	static const uint8_t old[] = {0xc8, 2, 1}; /* incremental_state_cleared: true */
	static const uint8_t none[] = {0x40, 5, 0xc8, 2, 0};

	for (size_t cut = 0; cut <= sizeof(both); cut++)
		assert_int_equal(state_of(both, sizeof(both), cut),
				 PACKET_STATE_CLEARED | PACKET_STATE_NEEDED);
	for (size_t cut = 0; cut <= sizeof(needed); cut++)
		assert_int_equal(state_of(needed, sizeof(needed), cut), PACKET_STATE_NEEDED);
	for (size_t cut = 0; cut <= sizeof(old); cut++)
		assert_int_equal(state_of(old, sizeof(old), cut), PACKET_STATE_CLEARED);
	assert_int_equal(state_of(none, sizeof(none), 1), 0);
}
