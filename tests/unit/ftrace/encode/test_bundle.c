/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/encode/bundle.h"
#include "symbols/symbol_table_build.h"
#include "unit/fixture.h"
#include "unit/ftrace/bundles.h"

static struct bundle b;
static struct writer *w;
static struct clock_sync moment;

SETUP
{
	w = fake_writer_new(100);
	memset(&b, 0, sizeof(b));
	moment = (struct clock_sync){0};
	assert_int_equal(bundle_init(&b, w, 3), 0);
}

TEARDOWN
{
	bundle_deinit(&b);
	writer_free(w);
}

/* Field numbers of the bundle in order, 0 at the end. */
static void assert_order(const struct bundle_view *view, ...)
{
	struct pb_field f;
	struct pb_dec d;
	va_list ap;

	va_start(ap, view);
	pb_dec_init(&d, view->whole.data, view->whole.len);
	while (pb_dec_next(&d, &f))
		assert_int_equal(f.id, va_arg(ap, unsigned));
	assert_int_equal(va_arg(ap, unsigned), 0);
	va_end(ap);
}

FIXTURE_TEST(test_head)
{
	bundle_begin(&b, &(struct bundle_head){.cpu = 3, .previous_end = 55, .sync = &moment});
	bundle_end(&b);
	bundle_end(&b); /* nothing is open */
	bundle_begin(&b, &(struct bundle_head){
				 .cpu = 4, .lost = true, .lost_count = 9, .sync = &moment});
	bundle_end(&b);
	bundles_read(w);
	assert_int_equal(n_bundles, 2);
	assert_order(&bundles[0], PB_FTRACE_EVENT_BUNDLE_CPU,
		     PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP, 0);
	assert_int_equal(bundles[0].cpu, 3);
	assert_int_equal(bundles[0].previous_end, 55);
	assert_order(&bundles[1], PB_FTRACE_EVENT_BUNDLE_CPU, PB_FTRACE_EVENT_BUNDLE_LOST_EVENTS,
		     PB_FTRACE_EVENT_BUNDLE_LOST_EVENT_COUNT,
		     PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP, 0);
	assert_true(bundles[1].lost);
	assert_int_equal(bundles[1].lost_count, 9);
}

FIXTURE_TEST(test_other_clocks_are_told)
{
	moment = (struct clock_sync){FTRACE_CLOCK_MONO_RAW, 1000, 2000};
	bundle_begin(&b, &(struct bundle_head){.sync = &moment});
	bundle_end(&b);
	bundles_read(w);
	assert_order(&bundles[0], PB_FTRACE_EVENT_BUNDLE_CPU,
		     PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP,
		     PB_FTRACE_EVENT_BUNDLE_FTRACE_CLOCK, PB_FTRACE_EVENT_BUNDLE_FTRACE_TIMESTAMP,
		     PB_FTRACE_EVENT_BUNDLE_BOOT_TIMESTAMP, 0);
}

/* ---- names of addresses ---- */

static struct symbol_table make_symbols(const char *text)
{
	struct symbol_table_build *build;

	assert_int_equal(symbol_table_build_new(&build), 0);
	assert_int_equal(symbol_table_build_feed(build, text, strlen(text)), 0);
	while (symbol_table_build_step(build))
		;
	return symbol_table_build_finish(build);
}

/* The packet's flags, and its names as "1=a 3=b". */
static void read_symbols(unsigned packet, uint64_t *ret_flags, char *ret_names)
{
	struct pb_field p, f, g, h;
	struct pb_dec d, d2, d3, d4;

	*ret_flags = 0;
	*ret_names = '\0';
	pb_dec_init(&d, w->begin, fake_writer_len(w));
	for (unsigned i = 0; i <= packet; i++)
		assert_true(pb_dec_next(&d, &p));
	pb_dec_init(&d2, p.data, p.len);
	while (pb_dec_next(&d2, &f)) {
		if (f.id == PB_TRACE_PACKET_SEQUENCE_FLAGS)
			*ret_flags = f.u64;
		if (f.id != PB_TRACE_PACKET_INTERNED_DATA)
			continue;
		pb_dec_init(&d3, f.data, f.len);
		while (pb_dec_next(&d3, &g)) {
			assert_int_equal(g.id, PB_INTERNED_DATA_KERNEL_SYMBOLS);
			pb_dec_init(&d4, g.data, g.len);
			assert_true(pb_dec_next(&d4, &h) && h.id == PB_INTERNED_STRING_IID);
			ret_names += sprintf(ret_names, "%u=", (unsigned)h.u64);
			assert_true(pb_dec_next(&d4, &h) && h.id == PB_INTERNED_STRING_STR);
			ret_names += sprintf(ret_names, "%.*s ", (int)h.len, (const char *)h.data);
		}
	}
}

FIXTURE_TEST(test_names_of_addresses_go_with_their_bundle)
{
	struct symbol_table symbol_table =
		make_symbols("1000 T first_function\n2000 t second\n3000 D data\n");
	char names[200];
	uint64_t flags;

	for (unsigned round = 0; round < 5; round++) {
		b.symbols = round ? &symbol_table : NULL;
		bundle_begin(&b, &(struct bundle_head){.sync = &moment});
		if (round < 2) {
			sym_index_intern(&b.syms, 0xffff0000);
			sym_index_intern(&b.syms, 0x2abc);
			sym_index_intern(&b.syms, 0x1000);
		} else if (round == 2) {
			sym_index_intern(&b.syms, 0x3000);
		} else if (round == 3) {
			sym_index_intern(&b.syms, 0x1fff);
		}
		bundle_end(&b);
	}
	read_symbols(0, &flags, names); /* no table, no names */
	assert_int_equal(flags, 0);
	assert_string_equal(names, "");
	read_symbols(1, &flags, names);
	assert_int_equal(flags, 1);
	assert_string_equal(names, "2=second 3=first_function ");
	/* Number 1 is not what it was, though it has no name. */
	read_symbols(2, &flags, names);
	assert_int_equal(flags, 1);
	assert_string_equal(names, "");
	read_symbols(3, &flags, names);
	assert_int_equal(flags, 1);
	assert_string_equal(names, "1=first_function ");
	read_symbols(4, &flags, names); /* no number, nothing to clear */
	assert_int_equal(flags, 0);
	symbol_table_deinit(&symbol_table);
}
