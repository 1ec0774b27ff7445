/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that cannot record report why. Others are in tests/root/test_ftrace.sh. */

#include "ftrace/session/ftrace_session.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/fake_writer.h"

static struct ftrace_session s;
static struct writer *w;

SETUP
{
	w = fake_writer_new(4096);
	fake_root_new();
}

TEARDOWN
{
	writer_free(w);
	fake_root_remove();
}

static void open_session(const char *root)
{
	const struct ds_env env = {.sys_root = "/nowhere", .tracefs_root = root};

	assert_int_equal(
		ftrace_session_init(&s, &env, 1, 0,
				    &(const Pb__DataSourceConfig)PB__DATA_SOURCE_CONFIG__INIT),
		0);
	ftrace_session_set_up(&s, &env, w);
}

FIXTURE_TEST(a_dir_that_cannot_hold_instances)
{
	open_session(fake_root);
	assert_non_null(strstr(s.errors.fatal, "No such file"));
	assert_false(instance_is_made(&s.instance));
	ftrace_session_close(&s);

	fake_text("instances/x", "");
	open_session(fake_root);
	assert_non_null(strstr(s.errors.fatal, "tracing_on"));
	ftrace_session_close(&s);
	/* Nothing is left behind. */
	fake_text("instances/x", "");
	assert_int_equal(unlink(fake_path("instances/x")), 0);
	assert_int_equal(rmdir(fake_path("instances")), 0);
}

FIXTURE_TEST(the_config_counts_even_then)
{
	const struct ds_env env = {.sys_root = "/nowhere"};
	Pb__DataSourceConfig source = PB__DATA_SOURCE_CONFIG__INIT;
	Pb__FtraceConfig config = PB__FTRACE_CONFIG__INIT;

	config.has_drain_period_ms = 1;
	config.drain_period_ms = 7;
	source.ftrace_config = &config;
	assert_int_equal(ftrace_session_init(&s, &env, 1, 0, &source), 0);
	ftrace_session_set_up(&s, &env, w);
	assert_int_equal(s.settings.drain_period_ms, 7);
	ftrace_session_close(&s);
}
