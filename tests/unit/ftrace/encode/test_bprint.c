// SPDX-License-Identifier: Apache-2.0
/* Arguments as the kernel stores them, against printf, and against libtraceevent. */

#include <trace-seq.h>

#include "unit/test.h"
#include "unit/ftrace/formats.h"
#include "ftrace/encode/text_fields.c"
#include "unit/rng.h"

/* ---- arguments ---- */

static uint8_t args[4096];
static size_t args_len;

static void put_arg(const void *data, size_t size)
{
	size_t align = MIN(size, 4u);

	args_len = (args_len + align - 1) / align * align;
	memcpy(args + args_len, data, size);
	args_len += size;
}

static void put8(uint8_t v)
{
	put_arg(&v, 1);
}

static void put16(uint16_t v)
{
	put_arg(&v, 2);
}

static void put32(uint32_t v)
{
	put_arg(&v, 4);
}

static void put64(uint64_t v)
{
	put_arg(&v, 8);
}

static void put_text(const char *s)
{
	memcpy(args + args_len, s, strlen(s) + 1);
	args_len += strlen(s) + 1;
}

static size_t name_pointer(void *ctx, uint64_t address, char *to, size_t size)
{
	char text[64];
	size_t n = (size_t)snprintf(text, sizeof(text), "<%llx>", (unsigned long long)address);

	n = MIN(n, size);
	memcpy(to, text, n);
	return n;
}

/* Formats the arguments, which are forgotten then. */
static const char *format(const char *fmt, unsigned long_size, unsigned min_int)
{
	static char text[4096];
	struct bprint_args a = {args, args_len, long_size, min_int};
	size_t n = bprint_format(fmt, strlen(fmt), &a, name_pointer, NULL, text, sizeof(text) - 1);

	text[n] = '\0';
	args_len = 0;
	return text;
}

TEST(test_text_alone)
{
	assert_string_equal(format("", 8, 4), "");
	assert_string_equal(format("hello\n", 8, 4), "hello\n");
	assert_string_equal(format("100%% of it", 8, 4), "100% of it");
}

TEST(test_numbers_as_printf_has_them)
{
	static const char *const specs[] = {"%d",    "%u",    "%x",   "%#x",	"%X",  "%o",
					    "%5d",   "%-5d|", "%05d", "%+d",	"% d", "%.3d",
					    "%8.3x", "%i",    "%#o",  "%-8.4u|"};
	static const uint32_t values[] = {0, 1, 42, 0x7fffffff, 0x80000000, 0xffffffff, 12345};
	char want[64], spec[16];

	for (unsigned s = 0; s < ARRAY_SIZE(specs); s++)
		for (unsigned v = 0; v < ARRAY_SIZE(values); v++) {
			put32(values[v]);
			snprintf(want, sizeof(want), specs[s], values[v]);
			assert_string_equal(format(specs[s], 8, 4), want);

			/* "%5d" -> "%5lld" */
			snprintf(spec, sizeof(spec), "%.*sll%s", (int)strcspn(specs[s], "diuxXo"),
				 specs[s], specs[s] + strcspn(specs[s], "diuxXo"));
			put64(0x123456789abcdef0ull * values[v]);
			snprintf(want, sizeof(want), spec, 0x123456789abcdef0ull * values[v]);
			assert_string_equal(format(spec, 8, 4), want);
		}
}

TEST(test_widths_of_types)
{
	put64(1ull << 40);
	put64((uint64_t)-5);
	put64(7);
	put32(9);
	assert_string_equal(format("%lu %ld %zu %d", 8, 4), "1099511627776 -5 7 9");
	/* A long of 4 bytes; long long is 8, at 4. */
	put32(10);
	put32((uint32_t)-5);
	put64(1ull << 40);
	put32(3);
	assert_string_equal(format("%lu %ld %llu %zd", 4, 4), "10 -5 1099511627776 3");
}

TEST(test_short_numbers_before_and_since_6_14)
{
	put8(0xff);
	put16(0xfffe);
	put8('x');
	put32(77);
	assert_string_equal(format("%hhd %hd %c %d", 8, 1), "-1 -2 x 77");
	put32(0xffffffff);
	put32(0xfffffffe);
	put8('x');
	put32(77);
	assert_string_equal(format("%hhu %hu %c %d", 8, 4), "255 65534 x 77");
}

TEST(test_strings)
{
	put_text("one");
	put_text("");
	put_text("three");
	put32(4);
	assert_string_equal(format("%s,%s,%s %d", 8, 4), "one,,three 4");
	put_text("cut me");
	put_text("pad");
	put_text("pad");
	assert_string_equal(format("%.3s|%6s|%-6s|", 8, 4), "cut|   pad|pad   |");
	put32(2);
	put_text("cut");
	put32((uint32_t)-5);
	put32(7);
	assert_string_equal(format("%.*s|%*d|", 8, 4), "cu|7    |");
}

TEST(test_pointers_are_told_by_the_caller)
{
	put64(0xffffffff81000000);
	put64(0xffffffff81000010);
	put64(0x1234);
	assert_string_equal(format("%p %pS %ps!", 8, 4),
			    "<ffffffff81000000> <ffffffff81000010> <1234>!");
	put32(0xc0000000);
	assert_string_equal(format("%pSR", 4, 4), "<c0000000>");
	/* It is to be shown, or it is an error's number. */
	put64(0xffff888000001000);
	put64((uint64_t)-12);
	put64(0xffff888000001000);
	assert_string_equal(format("%px %pe %pe", 8, 4), "ffff888000001000 -12 <ffff888000001000>");
	/* The kernel has made these text. */
	put_text("192.168.1.7");
	put_text("00:11:22:33:44:55");
	put32(5);
	assert_string_equal(format("%pI4 %pM %d", 8, 4), "192.168.1.7 00:11:22:33:44:55 5");
}

TEST(test_arguments_that_are_not_there)
{
	static const char *const specs[] = {"%d", "%lld", "%s", "%c", "%p", "%pI4", "%*d", "%.*s"};

	for (unsigned i = 0; i < ARRAY_SIZE(specs); i++) {
		char fmt[32];

		snprintf(fmt, sizeof(fmt), "before %s after", specs[i]);
		assert_string_equal(format(fmt, 8, 4), "before ");
	}
	memset(args, 'x', 10); /* without an end */
	args_len = 10;
	assert_string_equal(format("%s", 8, 4), "");
	/* What no kernel formats. */
	put32(1);
	assert_string_equal(format("%d then %f", 8, 4), "1 then ");
	assert_string_equal(format("%", 8, 4), "");
	assert_string_equal(format("%-", 8, 4), "");
	assert_string_equal(format("%999999999999999999999", 8, 4), "");
}

TEST(test_no_room)
{
	struct bprint_args a = {args, 0, 8, 4};
	char to[16];

	put_text("a longer text than there is room for");
	put32(1234567);
	a.len = args_len;
	args_len = 0;
	for (size_t size = 0; size < sizeof(to); size++) {
		memset(to, '#', sizeof(to));
		assert_int_equal(bprint_format("%s %*d", 6, &a, name_pointer, NULL, to, size),
				 size);
		assert_true(!memcmp(to, "a longer text th", size));
		assert_true(to[size] == '#');
	}
}

/* ---- against libtraceevent, which reads short numbers as those of before 6.14 ---- */

TEST(test_records_against_libtraceevent)
{
	static const char fields[] = FIELD("unsigned long ip", 8, 8, 0)
		FIELD("const char * fmt", 16, 8, 0) FIELD("u32 buf[]", 24, 0, 0);
	static const char *const fmt = "%d %s %llx %6u| %s 0x%08lx";
	uint8_t record[512] = {100};
	struct tep_handle *tep;
	struct tep_record r = {.data = record};
	uint64_t seed = 5, address = 0xffffffff82000000;
	struct trace_seq s;
	const char *want;
	char text[64];
	size_t len;

	assert_non_null(format_event("ftrace", "bprint", fields, &tep));
	tep_set_long_size(tep, 8);
	assert_int_equal(tep_register_print_string(tep, fmt, address), 0);
	memcpy(record + 16, &address, 8);
	for (unsigned i = 0; i < 500; i++) {
		snprintf(text, sizeof(text), "%.*s", (int)rng_below(&seed, 12), "abcdefghijklm");
		put32((uint32_t)rng_next(&seed));
		put_text(text);
		put64(rng_next(&seed));
		put32((uint32_t)rng_next(&seed) % 100000);
		put_text(text);
		put64(rng_next(&seed) & 0xffffffff);
		memcpy(record + 24, args, args_len);
		r.size = (int)(24 + args_len);
		trace_seq_init(&s);
		tep_print_event(tep, &s, &r, "%s", TEP_PRINT_INFO);
		trace_seq_terminate(&s);
		/* It has the function before it, and does not know "%-6u". */
		want = format(fmt, 8, 1);
		len = strlen(want);
		assert_true(strlen(s.buffer) >= len);
		assert_memory_equal(s.buffer + strlen(s.buffer) - len, want, len);
		trace_seq_destroy(&s);
	}
	tep_free(tep);
}
