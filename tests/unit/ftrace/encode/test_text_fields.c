// SPDX-License-Identifier: Apache-2.0
/* Stacks, names and formatted text, as whole events. */

#include "unit/fixture.h"
#include "unit/ftrace/formats.h"
#include "ftrace/encode/event_encode.h"
#include "ftrace/events/event_table.h"
#include "ftrace/encode/text_fields.h"
#include "symbols/symbol_table_build.h"
#include "ftrace/format/unaligned.h"
#include "wire/pb_dec.h"

static struct event_table table;
static struct sym_index syms;
static struct symbol_table symbol_table;
static struct encode_ctx ctx;

static const char stack_fields[] =
	FIELD("int size", 8, 4, 1) FIELD("unsigned long caller[8]", 16, 64, 0);
static const char user_fields[] =
	FIELD("unsigned int tgid", 8, 4, 0) FIELD("unsigned long caller[8]", 16, 64, 0);
static const char bprint_fields[] = FIELD("unsigned long ip", 8, 8, 0)
	FIELD("const char * fmt", 16, 8, 0) FIELD("u32 buf[]", 24, 0, 0);

static const struct compiled_event *add(const char *name, const char *fields, const char *print_fmt,
					bool legacy)
{
	const struct event_table_options o = {.symbols = true, .legacy_generic = legacy};
	char *text = format_text(name, 9, FORMAT_COMMON, fields);
	uint16_t id;

	strcpy(strstr(text, "print fmt:"), "print fmt: ");
	strcat(text, print_fmt);
	assert_int_equal(event_table_add(&table, "ftrace", name, text, &o, &id), 0);
	return event_table_get(&table, id);
}

SETUP
{
	static const char text[] = "ffffffff81000000 T schedule\nffffffff81000100 t do_idle\n"
				   "ffffffff81000200 D data\n";
	struct symbol_table_build *b;

	assert_int_equal(symbol_table_build_new(&b), 0);
	assert_int_equal(symbol_table_build_feed(b, text, strlen(text)), 0);
	while (symbol_table_build_step(b))
		;
	symbol_table = symbol_table_build_take(b);
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

/* The text of field so and so of the event; "(none)" where it is not there. */
static const char *text_of(const struct compiled_event *ev, const void *payload, size_t len,
			   uint32_t field)
{
	static uint8_t out[1 << 16];
	static char text[EVENT_TEXT_MAX + 1];
	struct ring_record r = {.time = 1, .payload = payload, .len = (uint32_t)len};
	struct pb_field event, message, f;
	struct pb_dec d;
	uint8_t *end;

	assert_true(len >= ev->min_len);
	assert_true(event_encode_bound(ev, r.len) <= sizeof(out));
	end = event_encode(ev, &r, &ctx, out);
	assert_true((size_t)(end - out) <= event_encode_bound(ev, r.len));
	assert_false(ctx.bad_field);
	pb_dec_init(&d, out, (size_t)(end - out));
	assert_true(pb_dec_next(&d, &event) && d.cur == end);
	pb_dec_init(&d, event.data, event.len);
	while (pb_dec_next(&d, &message))
		;
	assert_true(pb_dec_ok(&d));
	strcpy(text, "(none)");
	pb_dec_init(&d, message.data, message.len);
	while (pb_dec_next(&d, &f))
		if (f.id == field)
			snprintf(text, sizeof(text), "%.*s", (int)f.len, (const char *)f.data);
	assert_true(pb_dec_ok(&d));
	return text;
}

static void put64(uint8_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
}

FIXTURE_TEST(test_a_stack_is_a_line_a_frame)
{
	const struct compiled_event *ev =
		add("kernel_stack", stack_fields, "\"%ps\", REC->caller", false);
	uint8_t payload[16 + 8 * 8] = {9};

	put64(payload + 16, 0xffffffff81000010);
	put64(payload + 24, 0xffffffff81000100);
	put64(payload + 32, 0xffffffff81000210);
	put64(payload + 40, 0x7fffffff);
	put64(payload + 48, 0xffff888000000000);
	put64(payload + 56, 0xffffffff81000210);
	/* As many as the record is long. */
	assert_string_equal(text_of(ev, payload, 16, 2), "");
	assert_string_equal(text_of(ev, payload, 24, 2), "schedule");
	assert_string_equal(text_of(ev, payload, 31, 2), "schedule");
	assert_string_equal(text_of(ev, payload, 64, 2),
			    "schedule\ndo_idle\n#1\n[FTRACE TRAMPOLINE]\n#2\n#1");
	/* A zero ends it, and so does the -1 of older kernels. */
	put64(payload + 32, 0);
	assert_string_equal(text_of(ev, payload, 80, 2), "schedule\ndo_idle");
	put64(payload + 32, UINT64_MAX);
	assert_string_equal(text_of(ev, payload, 80, 2), "schedule\ndo_idle");
	/* Without a table, which frames are the same is all that is said. */
	ctx.symbols = NULL;
	sym_index_clear(&syms);
	put64(payload + 32, 0xffffffff81000010);
	assert_string_equal(text_of(ev, payload, 40, 2), "#1\n#2\n#1");
}

FIXTURE_TEST(test_deep_stacks_are_cut)
{
	const struct compiled_event *ev = add("kernel_stack", stack_fields, "\"\"", false);
	static uint8_t payload[16 + 8 * 2000] = {9};
	const char *text;

	for (unsigned i = 0; i < 2000; i++)
		put64(payload + 16 + 8 * i, 0xffffffff81000000);
	text = text_of(ev, payload, sizeof(payload), 2);
	assert_int_equal(strlen(text), 256 * strlen("schedule\n") - 1);
	for (unsigned i = 0; i < 2000; i++)
		put64(payload + 16 + 8 * i, 0xfffff00000000000 + i);
	text = text_of(ev, payload, sizeof(payload), 2);
	assert_string_equal(text + strlen(text) - 4, "#256");
}

FIXTURE_TEST(test_a_process_stack_is_its_addresses)
{
	const struct compiled_event *ev = add("user_stack", user_fields, "\"\"", false);
	uint8_t payload[16 + 8 * 8] = {9};

	put64(payload + 16, 0x7f0000001234);
	put64(payload + 24, 0xffffffff81000000); /* not named: it is none of the kernel's */
	assert_string_equal(text_of(ev, payload, 80, 2), "0x7f0000001234\n0xffffffff81000000");
}

FIXTURE_TEST(test_names_beside_addresses)
{
	const struct compiled_event *ev =
		add("func_repeats",
		    FIELD("unsigned long ip", 8, 8, 0) FIELD("unsigned long parent_ip", 16, 8, 0),
		    "\"%ps <-%ps\", REC->ip, REC->parent_ip", false);
	uint8_t payload[24] = {9};

	put64(payload + 8, 0xffffffff81000110);
	put64(payload + 16, 0xffff888000000000);
	assert_string_equal(text_of(ev, payload, 24, 2), "do_idle");
	assert_string_equal(text_of(ev, payload, 24, 4), "(none)");
	ctx.symbols = NULL;
	assert_string_equal(text_of(ev, payload, 24, 2), "(none)");
}

FIXTURE_TEST(test_formats_with_their_arguments)
{
	const struct compiled_event *ev = add("bprint", bprint_fields, "\"%ps\", REC->ip", false);
	uint8_t payload[48] = {9};

	put64(payload + 8, 0xffffffff81000000);
	put64(payload + 16, 0x1000);
	memcpy(payload + 24,
	       "\xfe\xff\xff\xff"
	       "abc",
	       8);
	put64(payload + 32, 0xffffffff81000100);
	assert_string_equal(text_of(ev, payload, 40, 2), "schedule"); /* ip_symbol */
	assert_string_equal(text_of(ev, payload, 40, 3), "n %d s %s p %ps\n");
	assert_string_equal(text_of(ev, payload, 40, 4), "n -2 s abc p do_idle\n");
	/* A format that nobody knows: only its arguments are lost. */
	put64(payload + 16, 0x2000);
	assert_string_equal(text_of(ev, payload, 40, 3), "");
	assert_string_equal(text_of(ev, payload, 40, 4), "(none)");
	assert_string_equal(text_of(ev, payload, 24, 4), "(none)");
}

FIXTURE_TEST(test_what_a_record_may_lack)
{
	const struct compiled_event *ev =
		add("function",
		    FIELD("unsigned long ip", 8, 8, 0) FIELD("unsigned long args[]", 24, 0, 0),
		    "\"\"", false);
	uint8_t payload[40] = {9};

	memcpy(payload + 24, "arguments", 9);
	assert_string_equal(text_of(ev, payload, 16, 2), "(none)");
	assert_string_equal(text_of(ev, payload, 24, 2), "(none)");
	assert_string_equal(text_of(ev, payload, 33, 2), "arguments");
}

/* The same in the older form, by name. */
FIXTURE_TEST(test_spelled_out)
{
	const struct compiled_event *ev = add("kernel_stack", stack_fields, "\"\"", true);
	struct ring_record r = {.time = 1, .len = 32};
	uint8_t payload[32] = {9}, out[20000], *end;

	r.payload = payload;
	put64(payload + 16, 0xffffffff81000010);
	put64(payload + 24, 0xffffffff81000100);
	end = event_encode(ev, &r, &ctx, out);
	assert_true((size_t)(end - out) <= event_encode_bound(ev, r.len));
	assert_non_null(memmem(out, (size_t)(end - out), "schedule\ndo_idle", 16));
	assert_non_null(memmem(out, (size_t)(end - out), "caller", 6));
}
