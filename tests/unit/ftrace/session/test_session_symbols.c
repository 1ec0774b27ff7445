/* SPDX-License-Identifier: Apache-2.0 */
#include <event2/event.h>

#include "ftrace/session/session_symbols.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/fake_writer.h"
#include "unit/ftrace/page_maker.h"

static struct event_base *loop;
static struct session_symbols s;
static Pb__FtraceConfig config;
static unsigned n_done;

SETUP
{
	fake_root_new();
	loop = event_base_new();
	config = (Pb__FtraceConfig)PB__FTRACE_CONFIG__INIT;
	config.symbolize_ksyms = true;
	s = (struct session_symbols){0};
	n_done = 0;
	fake_text("kallsyms", "1000 T a\n2000 T b\n3000 T c\n");
}

TEARDOWN
{
	session_symbols_leave(&s);
	event_base_free(loop);
	fake_root_remove();
}

static void done(void *ctx)
{
	assert_ptr_equal(ctx, &config);
	n_done++;
}

FIXTURE_TEST(names_for_every_listener)
{
	struct writer *w = fake_writer_new(4096);
	struct ring_listener listeners[2] = {0}, *all[2] = {&listeners[0], &listeners[1]};
	struct ftrace_stats_extra more = {0};
	struct event_table table = {0};
	struct setup_errors errors = {0};

	assert_int_equal(session_symbols_join(&s, loop, fake_root, &config), 0);
	assert_true(session_symbols_wait(&s, 60000, done, &config));
	event_base_loop(loop, EVLOOP_ONCE);
	while (!n_done)
		event_base_loop(loop, EVLOOP_ONCE);
	assert_int_equal(n_done, 1);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(
			page_encoder_new(&table, &page_maker_layout, w, &listeners[i].encoder), 0);
	session_symbols_apply(&s, all, 2, &more, &errors);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(listeners[i].encoder->ctx.symbols->n_functions, 3);
		assert_ptr_equal(listeners[i].encoder->bundle.symbols,
				 listeners[i].encoder->ctx.symbols);
		page_encoder_free(listeners[i].encoder);
	}
	assert_int_equal(more.ksyms_parsed, 3);
	assert_int_equal(more.ksyms_kb, 1);
	assert_null(errors.failed);
	/* No timer is left. */
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1);
	writer_free(w);
}

FIXTURE_TEST(it_takes_too_long)
{
	struct ftrace_stats_extra more = {0};
	struct setup_errors errors = {0};

	assert_int_equal(session_symbols_join(&s, loop, fake_root, &config), 0);
	assert_true(session_symbols_wait(&s, 60000, done, &config));
	event_active(s.timer, EV_TIMEOUT, 0); /* it is later than one would think */
	event_base_loop(loop, EVLOOP_NONBLOCK);
	/* Perhaps the table came in the same turn. */
	assert_int_equal(n_done, 1 + s.user.is_ready);
	if (session_symbols_are_pending(&s)) {
		session_symbols_apply(&s, NULL, 0, &more, &errors);
		assert_null(errors.failed);
		session_symbols_report_missing(&s, &errors);
		session_symbols_report_missing(&s, &errors);
		assert_int_equal(tracefs_list_size(errors.failed), 1);
		setup_errors_deinit(&errors);
		session_symbols_stop_waiting(&s);
	}
	for (unsigned i = 0; i < 20; i++)
		event_base_loop(loop, EVLOOP_NONBLOCK);
	assert_int_equal(n_done, 2);
	session_symbols_apply(&s, NULL, 0, &more, &errors);
	assert_int_equal(more.ksyms_parsed, 3);
	session_symbols_report_missing(&s, &errors);
	assert_null(errors.failed);
}
