// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bundles.h"
#include "ftrace/bundle.h"

static struct bundle b;
static struct writer *w;
static struct clock_sync moment;

static int setup(void **state)
{
	(void)state;
	w = fake_writer_new(100);
	memset(&b, 0, sizeof(b));
	moment = (struct clock_sync){0};
	return bundle_init(&b, w, 3);
}

static int teardown(void **state)
{
	(void)state;
	bundle_deinit(&b);
	writer_free(w);
	return 0;
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

static void test_head(void **state)
{
	(void)state;
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

static void test_other_clocks_are_told(void **state)
{
	(void)state;
	moment = (struct clock_sync){FTRACE_CLOCK_MONO_RAW, 1000, 2000};
	bundle_begin(&b, &(struct bundle_head){.sync = &moment});
	bundle_end(&b);
	bundles_read(w);
	assert_order(&bundles[0], PB_FTRACE_EVENT_BUNDLE_CPU,
		     PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP,
		     PB_FTRACE_EVENT_BUNDLE_FTRACE_CLOCK, PB_FTRACE_EVENT_BUNDLE_FTRACE_TIMESTAMP,
		     PB_FTRACE_EVENT_BUNDLE_BOOT_TIMESTAMP, 0);
}

static void test_errors(void **state)
{
	(void)state;
	bundle_begin(&b, &(struct bundle_head){.sync = &moment});
	bundle_error(&b, 1234, PAGE_END_OVERFLOW);
	bundle_error(&b, 0, PAGE_NULL_PADDING);
	bundle_end(&b);
	bundles_read(w);
	assert_int_equal(bundles[0].errors, 2);
	assert_int_equal(bundles[0].error_time, 0);
	assert_int_equal(bundles[0].error_status, PAGE_NULL_PADDING);
}

static void test_descriptors_once_a_bundle(void **state)
{
	static const uint8_t text[] = "abcdefgh";
	const struct event_row rows[3] = {
		{.generic_index = 0, .descriptor = text, .descriptor_len = 3},
		{.generic_index = 1, .descriptor = text + 3, .descriptor_len = 3},
		{.generic_index = 2, .descriptor = text + 6, .descriptor_len = 2},
	};

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		bundle_begin(&b, &(struct bundle_head){.sync = &moment});
		for (unsigned i = 0; i < 10; i++) {
			bundle_describe(&b, &rows[2]);
			bundle_describe(&b, &rows[0]);
		}
		if (round)
			bundle_describe(&b, &rows[1]);
		bundle_end(&b);
	}
	bundles_read(w);
	assert_int_equal(bundles[0].descriptors, 2);
	assert_int_equal(bundles[1].descriptors, 3);
}

static void test_addresses_fill_a_bundle(void **state)
{
	(void)state;
	bundle_begin(&b, &(struct bundle_head){.sync = &moment});
	for (unsigned i = 0; i < SYM_INDEX_MAX - 16; i++) {
		assert_false(bundle_full(&b));
		sym_index_get(&b.syms, i);
	}
	sym_index_get(&b.syms, 99999);
	assert_true(bundle_full(&b));
	bundle_end(&b);
	bundle_begin(&b, &(struct bundle_head){.sync = &moment});
	assert_false(bundle_full(&b));
	bundle_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_head, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_clocks_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptors_once_a_bundle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_addresses_fill_a_bundle, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
