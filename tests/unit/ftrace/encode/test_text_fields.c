/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks, names of functions and formatted text. Arguments of formats are compared with printf, and
 * with libtraceevent.
 */
#include <trace-seq.h>

#include "ftrace/encode/text_fields.h"
#include "symbols/symbol_table.h"
#include "unit/fixture.h"
#include "unit/ftrace/event_text.h"
#include "unit/rng.h"

static struct event_table table;
static struct sym_index syms;
static struct symbol_table symbol_table;
static struct encode_ctx ctx;

#define SCHEDULE 0xffffffff81000000
#define DO_IDLE 0xffffffff81000100
#define DATA 0xffffffff81000210
#define TRAMPOLINE 0x7fffffff
#define OTHER 0xffff888000000000

SETUP
{
	static const char text[] = "ffffffff81000000 T schedule\nffffffff81000100 t do_idle\n"
				   "ffffffff81000200 D data\n";
	struct symbol_table_build *b;

	assert_int_equal(symbol_table_build_new(&b), 0);
	assert_int_equal(symbol_table_build_feed(b, text, strlen(text)), 0);
	while (symbol_table_build_step(b))
		;
	symbol_table = symbol_table_build_finish(b);
	assert_int_equal(printk_formats_parse(&table.strings, "0x1000 : \"n %d s %s p %ps\\n\"\n"),
			 0);
	ctx = (struct encode_ctx){
		.syms = &syms, .strings = &table.strings, .symbols = &symbol_table};
	sym_index_clear(&syms);
}

TEARDOWN
{
	event_table_deinit(&table);
	symbol_table_deinit(&symbol_table);
}

/* ---- events ---- */

static const struct compiled_event *compile(const char *name, const char *fields,
					    const char *print_fmt, bool legacy)
{
	const struct event_table_options o = {.symbols = true, .legacy_generic = legacy};

	return event_text_compile(&table, "ftrace", name, fields, print_fmt, &o);
}

/* A record of n words of 8 bytes behind the common fields, and more bytes behind these. */
static const char *text_of_words(const struct compiled_event *ev, const uint64_t *words, size_t n,
				 const char *more, size_t len)
{
	static uint8_t record[1 << 15];

	memset(record, 0, sizeof(record));
	record[0] = EVENT_TEXT_ID;
	memcpy(record + 8, words, 8 * n);
	memcpy(record + 8 + 8 * n, more, len);
	return event_text(ev, &ctx, record, 8 + 8 * n + len);
}

#define WORDS(ev, ...)                                                                             \
	text_of_words(ev, (const uint64_t[]){__VA_ARGS__},                                         \
		      sizeof((const uint64_t[]){__VA_ARGS__}) / 8, "", 0)

static const char stack_fields[] =
	FIELD("int size", 8, 4, 1) FIELD("unsigned long caller[8]", 16, 64, 0);

FIXTURE_TEST(a_stack_is_a_line_a_frame)
{
	const struct compiled_event *ev =
		compile("kernel_stack", stack_fields, "\"%ps\", REC->caller", false);
	static uint64_t deep[2001];
	const char *text;

	/* As many frames as the record has; the last one needs all of its bytes. */
	assert_string_equal(WORDS(ev, 0), "1=0 2=''");
	assert_string_equal(WORDS(ev, 0, SCHEDULE + 16), "1=0 2='schedule'");
	assert_string_equal(
		text_of_words(ev, (const uint64_t[]){0, SCHEDULE}, 2, "\0\1\0\0\x81\xff\xff", 7),
		"1=0 2='schedule'");
	assert_string_equal(WORDS(ev, 0, SCHEDULE, DO_IDLE, DATA, TRAMPOLINE, OTHER, DATA),
			    "1=0 2='schedule\ndo_idle\n#1\n[FTRACE TRAMPOLINE]\n#2\n#1'");
	/* A zero ends it, and so does the -1 of older kernels. */
	assert_string_equal(WORDS(ev, 0, SCHEDULE, DO_IDLE, 0, SCHEDULE),
			    "1=0 2='schedule\ndo_idle'");
	assert_string_equal(WORDS(ev, 0, SCHEDULE, DO_IDLE, UINT64_MAX, SCHEDULE),
			    "1=0 2='schedule\ndo_idle'");
	/* Deep stacks are cut. */
	for (unsigned i = 1; i < ARRAY_SIZE(deep); i++)
		deep[i] = SCHEDULE;
	text = text_of_words(ev, deep, ARRAY_SIZE(deep), "", 0);
	assert_int_equal(strlen(text), strlen("1=0 2=''") + 256 * strlen("schedule\n") - 1);
	for (unsigned i = 1; i < ARRAY_SIZE(deep); i++)
		deep[i] = 0xfffff00000000000 + i;
	text = text_of_words(ev, deep, ARRAY_SIZE(deep), "", 0);
	assert_string_equal(text + strlen(text) - 5, "#256'");
	/* Without symbols, a number shows which frames are the same. */
	ctx.symbols = NULL;
	assert_string_equal(WORDS(ev, 0, SCHEDULE + 16, DO_IDLE, SCHEDULE + 16),
			    "1=0 2='#1\n#2\n#1'");
}

FIXTURE_TEST(other_texts)
{
	const struct compiled_event *ev = compile(
		"user_stack",
		FIELD("unsigned int tgid", 8, 4, 0) FIELD("unsigned long caller[8]", 16, 64, 0),
		"\"\"", false);

	/* Addresses of a process have no names, whatever their value. */
	assert_string_equal(WORDS(ev, 0, 0x7f0000001234, SCHEDULE, 0),
			    "1=0 2='0x7f0000001234\n0xffffffff81000000'");
	event_table_remove(&table, EVENT_TEXT_ID);
	ev = compile("func_repeats",
		     FIELD("unsigned long ip", 8, 8, 0) FIELD("unsigned long parent_ip", 16, 8, 0),
		     "\"%ps <-%ps\", REC->ip, REC->parent_ip", false);
	assert_string_equal(WORDS(ev, DO_IDLE + 16, OTHER), "1=1 2='do_idle' 3=2");
	ctx.symbols = NULL;
	assert_string_equal(WORDS(ev, DO_IDLE + 16, OTHER), "1=1 3=2");
	event_table_remove(&table, EVENT_TEXT_ID);
	/* A field that only some records have. */
	ev = compile("function",
		     FIELD("unsigned long ip", 8, 8, 0) FIELD("unsigned long args[]", 24, 0, 0),
		     "\"\"", false);
	assert_string_equal(WORDS(ev, OTHER), "1=1");
	assert_string_equal(WORDS(ev, OTHER, 0), "1=1");
	assert_string_equal(text_of_words(ev, (const uint64_t[]){OTHER, 0}, 2, "arguments", 9),
			    "1=1 2='arguments'");
	event_table_remove(&table, EVENT_TEXT_ID);
	/* By the names of the fields. */
	ctx.symbols = &symbol_table;
	ev = compile("kernel_stack", stack_fields, "\"\"", true);
	assert_string_equal(WORDS(ev, 0, SCHEDULE, DO_IDLE), "size=0 caller='schedule\ndo_idle'");
}

FIXTURE_TEST(a_format_and_its_arguments)
{
	const struct compiled_event *ev =
		compile("bprint", BPRINT_FIELDS, "\"%ps\", REC->ip", false);
	static const char args[] = "\xfe\xff\xff\xff"
				   "abc\0\0\1\0\x81\xff\xff\xff\xff";

	assert_string_equal(text_of_words(ev, (const uint64_t[]){SCHEDULE, 0x1000}, 2, args, 16),
			    "1=1 2='schedule' 3='n %d s %s p %ps\n' 4='n -2 s abc p do_idle\n'");
	/* Of an unknown format the arguments are lost. */
	assert_string_equal(text_of_words(ev, (const uint64_t[]){SCHEDULE, 0x2000}, 2, args, 16),
			    "1=1 2='schedule' 3=''");
}

/* ---- the arguments of formats ---- */

static uint8_t args[1 << 14];
static size_t args_len;

/* As the kernel stores an argument of these bytes. */
static void put_arg(uint64_t v, size_t size)
{
	size_t align = MIN(size, 4u);

	args_len = (args_len + align - 1) / align * align;
	memcpy(args + args_len, &v, size);
	args_len += size;
}

static void put_text(const char *s)
{
	memcpy(args + args_len, s, strlen(s) + 1);
	args_len += strlen(s) + 1;
}

/* Formats the arguments, and drops them. */
static const char *format(const char *fmt, unsigned long_size, unsigned min_int)
{
	static uint8_t record[24 + sizeof(args)], text[24 + sizeof(args) + EVENT_TEXT_MAX];
	const struct field_op op = {
		.type = FIELD_BPRINT, .offset = 24, .size = FIELD_BPRINT_SIZE(long_size, min_int)};
	const struct ring_record r = {.payload = record, .len = (uint32_t)(24 + args_len)};
	struct printk_formats strings = {0};
	uint64_t address = 0x1000;
	char line[256];
	uint8_t *end;

	snprintf(line, sizeof(line), "0x1000 : \"%s\"\n", fmt);
	assert_int_equal(printk_formats_parse(&strings, line), 0);
	ctx.strings = &strings;
	memcpy(record + 24 - long_size, &address, long_size);
	memcpy(record + 24, args, args_len);
	end = field_text_put(text, &op, &r, &ctx);
	assert_non_null(end);
	*end = '\0';
	printk_formats_deinit(&strings);
	args_len = 0;
	return (const char *)text;
}

FIXTURE_TEST(numbers_as_printf_has_them)
{
	static const char *const specs[] = {"%d",    "%u",    "%x",   "%#x",	"%X",  "%o",
					    "%5d",   "%-5d|", "%05d", "%+d",	"% d", "%.3d",
					    "%8.3x", "%i",    "%#o",  "%-8.4u|"};
	static const uint32_t values[] = {0, 1, 42, 0x7fffffff, 0x80000000, 0xffffffff, 12345};
	char want[64], spec[16];

	for (unsigned s = 0; s < ARRAY_SIZE(specs); s++)
		for (unsigned v = 0; v < ARRAY_SIZE(values); v++) {
			put_arg(values[v], 4);
			snprintf(want, sizeof(want), specs[s], values[v]);
			assert_string_equal(format(specs[s], 8, 4), want);

			/* "%5d" -> "%5lld" */
			snprintf(spec, sizeof(spec), "%.*sll%s", (int)strcspn(specs[s], "diuxXo"),
				 specs[s], specs[s] + strcspn(specs[s], "diuxXo"));
			put_arg(0x123456789abcdef0ull * values[v], 8);
			snprintf(want, sizeof(want), spec, 0x123456789abcdef0ull * values[v]);
			assert_string_equal(format(spec, 8, 4), want);
		}
	assert_string_equal(format("100%% of it", 8, 4), "100% of it");
}

FIXTURE_TEST(widths_of_types)
{
	put_arg(1ull << 40, 8);
	put_arg((uint64_t)-5, 8);
	put_arg(7, 8);
	put_arg(9, 4);
	assert_string_equal(format("%lu %ld %zu %d", 8, 4), "1099511627776 -5 7 9");
	/* A long of 4 bytes; long long is 8, at 4. */
	put_arg(10, 4);
	put_arg((uint32_t)-5, 4);
	put_arg(1ull << 40, 8);
	put_arg(3, 4);
	assert_string_equal(format("%lu %ld %llu %zd", 4, 4), "10 -5 1099511627776 3");
	/* Short numbers before Linux 6.14, and since then. */
	put_arg(0xff, 1);
	put_arg(0xfffe, 2);
	put_arg('x', 1);
	put_arg(77, 4);
	assert_string_equal(format("%hhd %hd %c %d", 8, 1), "-1 -2 x 77");
	put_arg(0xffffffff, 4);
	put_arg(0xfffffffe, 4);
	put_arg('x', 1);
	put_arg(77, 4);
	assert_string_equal(format("%hhu %hu %c %d", 8, 4), "255 65534 x 77");
}

FIXTURE_TEST(strings_and_pointers)
{
	put_text("one");
	put_text("");
	put_text("three");
	put_arg(4, 4);
	assert_string_equal(format("%s,%s,%s %d", 8, 4), "one,,three 4");
	put_text("cut me");
	put_text("pad");
	put_text("pad");
	assert_string_equal(format("%.3s|%6s|%-6s|", 8, 4), "cut|   pad|pad   |");
	put_arg(2, 4);
	put_text("cut");
	put_arg((uint32_t)-5, 4);
	put_arg(7, 4);
	assert_string_equal(format("%.*s|%*d|", 8, 4), "cu|7    |");
	/* A pointer is a name or a number; with %px it is shown, with %pe it may be an error. */
	put_arg(SCHEDULE, 8);
	put_arg(DO_IDLE + 4, 8);
	put_arg(OTHER, 8);
	assert_string_equal(format("%p %pS %ps!", 8, 4), "schedule do_idle #1!");
	put_arg(0xc0000000, 4);
	assert_string_equal(format("%pSR", 4, 4), "#2");
	put_arg(OTHER, 8);
	put_arg((uint64_t)-12, 8);
	put_arg(OTHER, 8);
	assert_string_equal(format("%px %pe %pe", 8, 4), "ffff888000000000 -12 #1");
	/* The kernel has made these text. */
	put_text("192.168.1.7");
	put_text("00:11:22:33:44:55");
	put_arg(5, 4);
	assert_string_equal(format("%pI4 %pM %d", 8, 4), "192.168.1.7 00:11:22:33:44:55 5");
}

FIXTURE_TEST(arguments_that_are_missing_or_unknown)
{
	static const char *const specs[] = {"%d", "%lld", "%s", "%c", "%p", "%pI4", "%*d", "%.*s"};
	char fmt[32];

	for (unsigned i = 0; i < ARRAY_SIZE(specs); i++) {
		snprintf(fmt, sizeof(fmt), "before %s after", specs[i]);
		assert_string_equal(format(fmt, 8, 4), "before ");
	}
	memset(args, 'x', 10); /* without a NUL */
	args_len = 10;
	assert_string_equal(format("%s", 8, 4), "");
	put_arg(1, 4);
	assert_string_equal(format("%d then %f", 8, 4), "1 then ");
	assert_string_equal(format("%", 8, 4), "");
	assert_string_equal(format("%-", 8, 4), "");
	assert_string_equal(format("%999999999999999999999", 8, 4), "");
	/* A text is cut at its limit. */
	memset(args, 'x', EVENT_TEXT_MAX + 10);
	args_len = EVENT_TEXT_MAX + 10;
	put_arg(0, 1);
	assert_int_equal(strlen(format("%s and more", 8, 4)), EVENT_TEXT_MAX);
}

/* It reads short numbers as those of before 6.14. */
FIXTURE_TEST(arguments_against_libtraceevent)
{
	static const char *const fmt = "%d %s %llx %6u| %s 0x%08lx";
	uint8_t record[512] = {100};
	struct tep_handle *tep;
	struct tep_record r = {.data = record};
	uint64_t seed = 5, address = 0xffffffff82000000;
	struct trace_seq s;
	const char *want;
	char text[64];
	size_t len;

	assert_non_null(format_event("ftrace", "bprint", BPRINT_FIELDS, &tep));
	tep_set_long_size(tep, 8);
	assert_int_equal(tep_register_print_string(tep, fmt, address), 0);
	memcpy(record + 16, &address, 8);
	for (unsigned i = 0; i < 500; i++) {
		snprintf(text, sizeof(text), "%.*s", (int)rng_below(&seed, 12), "abcdefghijklm");
		put_arg((uint32_t)rng_next(&seed), 4);
		put_text(text);
		put_arg(rng_next(&seed), 8);
		put_arg((uint32_t)rng_next(&seed) % 100000, 4);
		put_text(text);
		put_arg(rng_next(&seed) & 0xffffffff, 8);
		memcpy(record + 24, args, args_len);
		r.size = (int)(24 + args_len);
		trace_seq_init(&s);
		tep_print_event(tep, &s, &r, "%s", TEP_PRINT_INFO);
		trace_seq_terminate(&s);
		/* It prints the function before it, and does not know "%-6u". */
		want = format(fmt, 8, 1);
		len = strlen(want);
		assert_true(strlen(s.buffer) >= len);
		assert_memory_equal(s.buffer + strlen(s.buffer) - len, want, len);
		trace_seq_destroy(&s);
	}
	tep_free(tep);
}
