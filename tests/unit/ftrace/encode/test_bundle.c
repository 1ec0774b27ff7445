/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/encode/bundle.h"
#include "symbols/symbol_table.h"
#include "unit/fixture.h"
#include "unit/ftrace/packets.h"

static struct bundle b;
static struct writer *w;

SETUP
{
	struct bundle_output output;

	w = fake_writer_new(100);
	output = bundle_output_of_writer(w);
	memset(&b, 0, sizeof(b));
	assert_int_equal(bundle_init(&b, &output, 3), 0);
}

TEARDOWN
{
	bundle_deinit(&b);
	writer_free(w);
}

FIXTURE_TEST(a_bundle_begins_with_what_its_head_says)
{
	static const struct {
		struct bundle_head head;
		struct clock_sync sync;
		const char *want;
	} rows[] = {
		{{.cpu = 3, .previous_end = 55}, {0}, "cpu: 3 previous_bundle_end_timestamp: 55"},
		{{.cpu = 4, .lost = true, .lost_count = 9},
		 {0},
		 "cpu: 4 lost_events: 1 lost_event_count: 9 previous_bundle_end_timestamp: 0"},
		/* Another clock than that of the trace is named, with a moment on both. */
		{{.cpu = 1},
		 {FTRACE_CLOCK_MONO_RAW, 1000, 2000},
		 "cpu: 1 previous_bundle_end_timestamp: 0 ftrace_clock: 4 ftrace_timestamp: 1000 "
		 "boot_timestamp: 2000"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bundle_head head = rows[i].head;
		char want[256];

		head.sync = &rows[i].sync;
		fake_writer_clear(w);
		bundle_begin(&b, &head);
		bundle_end(&b);
		bundle_end(&b); /* nothing is open */
		snprintf(want, sizeof(want), "ftrace_events { %s }\n", rows[i].want);
		assert_string_equal(packets_text(w), want);
	}
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

FIXTURE_TEST(names_of_addresses_go_with_their_bundle)
{
	struct symbol_table symbol_table =
		make_symbols("1000 T first_function\n2000 t second\n3000 D data\n");
	for (unsigned round = 0; round < 5; round++) {
		b.symbols = round ? &symbol_table : NULL;
		bundle_begin(&b, &(struct bundle_head){.sync = &(struct clock_sync){0}});
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
	/* Without a table there are no names, and without a number nothing to clear. In the third
	 * bundle number 1 is not what it was, though it has no name. */
#define BUNDLE "ftrace_events { cpu: 0 previous_bundle_end_timestamp: 0 }"
#define SYMBOL(iid, name) "kernel_symbols { iid: " #iid " str: '" name "' }"
	assert_string_equal(
		packets_text(w), BUNDLE
		"\n" BUNDLE " sequence_flags: 1 interned_data { " SYMBOL(2, "second") " " SYMBOL(
			3, "first_function") " }\n" BUNDLE " sequence_flags: 1\n" BUNDLE
					     " sequence_flags: 1 interned_data { " SYMBOL(
						     1, "first_function") " }\n" BUNDLE "\n");
	symbol_table_deinit(&symbol_table);
}
