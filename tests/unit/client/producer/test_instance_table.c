/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens is written into one line of text, in its order: what instances ask of a source
 * ("start:7"), and what they answer to the service ("[started:7]").
 */

#include <event2/event.h>

#include "unit/test.h"
#include "base/core/clock.h"
#include "base/text/str.h"
#include "client/transport/arbiter.h"
#include "unit/client/fake_service.h"
#include "client/producer/instance_table.c"
#include "config/limits.h"

static struct strbuf story;
static bool answer_later; /* start, flush and stop */
static int create_result;

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
	char text[128];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (story.len)
		strbuf_putc(&story, ' ');
	strbuf_puts(&story, text);
}

static void assert_story(const char *expected)
{
	assert_string_equal(story.s ? story.s : "", expected);
	strbuf_clear(&story);
}

/* ---- a source ---- */

struct fake {
	struct ds_handle *h;
	unsigned number; /* the session's id, to be told apart */
};

static struct fake *fakes[100]; /* by number */

static int fake_create(struct ds_handle *h, const struct ds_env *env,
		       const Pb__DataSourceConfig *config, void **ret_instance)
{
	struct fake *f;

	if (create_result < 0)
		return create_result;
	f = calloc(1, sizeof(*f));
	f->h = h;
	f->number = (unsigned)config->tracing_session_id;
	assert_int_equal(ds_session_id(h), config->tracing_session_id);
	assert_int_equal(h->target_buffer, config->target_buffer);
	fakes[f->number] = f;
	note("create:%u", f->number);
	*ret_instance = f;
	return 0;
}

static void fake_start(void *instance)
{
	struct fake *f = instance;

	note("start:%u", f->number);
	if (!answer_later)
		ds_started(f->h);
}

static void fake_flush(void *instance, uint64_t flush_id)
{
	struct fake *f = instance;

	note("flush:%u/%u%s", f->number, (unsigned)flush_id, ds_stop_follows(f->h) ? " last" : "");
	if (!answer_later)
		ds_flushed(f->h, flush_id);
}

static void fake_clear(void *instance)
{
	struct fake *f = instance;

	note("clear:%u", f->number);
}

static void fake_stop(void *instance)
{
	struct fake *f = instance;

	note("stop:%u", f->number);
	if (!answer_later)
		ds_stopped(f->h);
}

static void fake_destroy(void *instance)
{
	struct fake *f = instance;

	note("destroy:%u", f->number);
	fakes[f->number] = NULL;
	free(f);
}

static const struct data_source plain = {
	.name = "plain",
	.create = fake_create,
	.start = fake_start,
	.flush = fake_flush,
	.stop = fake_stop,
	.destroy = fake_destroy,
};
static const struct data_source clearing = {
	.name = "clearing",
	.handles_incremental_state_clear = true,
	.create = fake_create,
	.start = fake_start,
	.flush = fake_flush,
	.clear = fake_clear,
	.stop = fake_stop,
	.destroy = fake_destroy,
};
static const struct data_source timely = {
	.name = "timely",
	.is_timely = true,
	.create = fake_create,
	.start = fake_start,
	.flush = fake_flush,
	.stop = fake_stop,
	.destroy = fake_destroy,
};
static const struct data_source *const sources[] = {&plain, &clearing, &timely, NULL};

/* ---- the service's ear ---- */

static void on_started(void *ctx, uint64_t id)
{
	note("[started:%u]", (unsigned)id);
}

static void on_stopped(void *ctx, uint64_t id)
{
	note("[stopped:%u]", (unsigned)id);
}

static void on_flushed(void *ctx, uint64_t flush_id)
{
	note("[flushed/%u]", (unsigned)flush_id);
}

static void on_failed(void *ctx, const char *name, int error)
{
	note("[failed:%s:%d]", name, error);
}

static void on_boosted(void *ctx, struct priority_boost strongest)
{
	note("[boost:%u/%u]", (unsigned)strongest.policy, strongest.priority);
}

static void on_bad_boost(void *ctx, const char *name)
{
	note("[bad boost:%s]", name);
}

static void on_triggered(void *ctx, const char *const *names, size_t n)
{
	note("[triggers:%s,%s/%zu]", names[0], names[n - 1], n);
}

static const struct instance_table_ops ops = {
	.triggered = on_triggered,
	.started = on_started,
	.stopped = on_stopped,
	.flushed = on_flushed,
	.failed = on_failed,
	.boosted = on_boosted,
	.bad_boost = on_bad_boost,
};

static struct ds_env env;
static struct instance_table *all;

static int setup(void **state)
{
	answer_later = false;
	create_result = 0;
	env.loop = event_base_new();
	all = instance_table_new(sources, &env, &ops, NULL);
	return all ? 0 : -1;
}

static int teardown(void **state)
{
	instance_table_free(all);
	event_base_free(env.loop);
	strbuf_deinit(&story);
	return 0;
}

static Pb__DataSourceConfig config_of(const char *name, unsigned session)
{
	Pb__DataSourceConfig c = PB__DATA_SOURCE_CONFIG__INIT;

	c.name = (char *)name;
	c.has_tracing_session_id = c.has_target_buffer = true;
	c.tracing_session_id = session;
	c.target_buffer = 3;
	return c;
}

/* Whose recording the source makes: by the service's word, where that can be believed. */
static bool is_for_root(bool has_uid, uint32_t uid)
{
	static unsigned id = 1000;
	Pb__DataSourceConfig c = config_of("plain", 1);

	c.has_consumer_uid = has_uid;
	c.consumer_uid = uid;
	instance_table_setup(all, ++id, &c);
	return ds_consumer_is_root(fakes[1]->h);
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(a_consumer_is_root_only_by_a_word_that_can_be_believed)
{
	assert_false(is_for_root(true, 0)); /* a service that passes on what a consumer wrote */
	env.knows_consumers = true;
	assert_true(is_for_root(true, 0));
	assert_false(is_for_root(true, 4242));
	assert_false(is_for_root(false, 0));
	env.knows_consumers = false;
	env.trusts_consumers = true;
	assert_true(is_for_root(true, 4242));
	assert_true(is_for_root(false, 0));
	env.trusts_consumers = false;
}

static void run(const char *name, unsigned id)
{
	Pb__DataSourceConfig c = config_of(name, id);

	instance_table_setup(all, id, &c);
	instance_table_start(all, id, &c);
	strbuf_clear(&story);
}

static void turn(void)
{
	event_base_loop(env.loop, EVLOOP_NONBLOCK);
}

/* ---- life ---- */

FIXTURE_TEST(a_whole_life)
{
	Pb__DataSourceConfig c = config_of("clearing", 7);
	const uint64_t ids[] = {70};

	instance_table_setup(all, 70, &c);
	assert_story("create:7");
	instance_table_setup(all, 70, &c); /* again: nothing */
	instance_table_start(all, 70, &c);
	assert_story("start:7 [started:70]");
	instance_table_start(all, 70, &c);
	assert_story("");
	instance_table_flush(all, ids, 1, 5, 0);
	assert_story("flush:7/5 [flushed/5]");
	instance_table_clear(all, ids, 1);
	assert_story("clear:7");
	instance_table_stop(all, 70);
	assert_story("stop:7 destroy:7 [stopped:70]");
	turn();
	assert_story("");
	instance_table_stop(all, 70); /* unknown now */
	assert_story("[stopped:70]");
}

FIXTURE_TEST(an_instance_asks_for_triggers)
{
	const char *const names[] = {"late", "full"};
	Pb__DataSourceConfig c = config_of("plain", 7);

	instance_table_start(all, 70, &c);
	assert_story("create:7 start:7 [started:70]");
	ds_activate_triggers(fakes[7]->h, names, 0);
	assert_story("");
	ds_activate_triggers(fakes[7]->h, names, 2);
	assert_story("[triggers:late,full/2]");
}

FIXTURE_TEST(answers_may_come_later)
{
	Pb__DataSourceConfig c = config_of("plain", 7);
	const uint64_t ids[] = {70};

	answer_later = true;
	instance_table_setup(all, 70, &c);
	instance_table_start(all, 70, &c);
	assert_story("create:7 start:7");
	ds_started(fakes[7]->h);
	ds_started(fakes[7]->h);
	assert_story("[started:70]");
	instance_table_flush(all, ids, 1, 5, 0);
	assert_story("flush:7/5");
	ds_flushed(fakes[7]->h, 4); /* no such flush */
	assert_story("");
	ds_flushed(fakes[7]->h, 5);
	ds_flushed(fakes[7]->h, 5);
	assert_story("[flushed/5]");
	ds_stopped(fakes[7]->h); /* nobody asked */
	turn();
	assert_story("");
	instance_table_stop(all, 70);
	instance_table_stop(all, 70);
	assert_story("stop:7");
	turn();
	assert_story("");
	ds_stopped(fakes[7]->h);
	assert_story(""); /* not under its feet */
	turn();
	assert_story("destroy:7 [stopped:70]");
}

FIXTURE_TEST(a_start_without_setup_sets_up)
{
	Pb__DataSourceConfig c = config_of("plain", 7);

	instance_table_start(all, 70, &c);
	assert_story("create:7 start:7 [started:70]");
	instance_table_start(all, 71, NULL);
	assert_story("[failed::-2] [started:71]");
	instance_table_stop(all, 71);
	assert_story("[stopped:71]");
}

FIXTURE_TEST(a_stop_before_the_start_destroys)
{
	Pb__DataSourceConfig c = config_of("plain", 7);

	instance_table_setup(all, 70, &c);
	instance_table_stop(all, 70);
	assert_story("create:7 destroy:7 [stopped:70]");
}

FIXTURE_TEST(what_fails_is_answered_all_the_same)
{
	Pb__DataSourceConfig c = config_of("plain", 7), unknown = config_of("nobody's", 8);
	const uint64_t ids[] = {70, 71, 72};

	create_result = -EACCES;
	instance_table_setup(all, 70, &c);
	assert_story("[failed:plain:-13]");
	instance_table_start(all, 70, &c); /* not tried again */
	assert_story("[started:70]");
	instance_table_setup(all, 71, &unknown);
	assert_story("[failed:nobody's:-2]");
	instance_table_start(all, 71, &unknown);
	assert_story("[started:71]");
	instance_table_flush(all, ids, 3, 9, 0);
	assert_story("[flushed/9]");
	instance_table_clear(all, ids, 3);
	instance_table_stop(all, 70);
	instance_table_stop(all, 71);
	instance_table_stop(all, 72);
	assert_story("[stopped:70] [stopped:71] [stopped:72]");
}

FIXTURE_TEST(the_end_stops_all_then_destroys_all)
{
	Pb__DataSourceConfig c = config_of("plain", 3);

	run("plain", 1);
	run("plain", 2);
	instance_table_setup(all, 3, &c);
	answer_later = true;
	run("plain", 4);
	instance_table_stop(all, 4); /* it is still about to */
	strbuf_clear(&story);
	answer_later = false;
	instance_table_free(all);
	assert_story("stop:2 stop:1 destroy:4 destroy:3 destroy:2 destroy:1");
	all = instance_table_new(sources, &env, &ops, NULL);
}

static void set_up_boosted(unsigned id, int policy, unsigned priority)
{
	Pb__PriorityBoostConfig b = PB__PRIORITY_BOOST_CONFIG__INIT;
	Pb__DataSourceConfig c = config_of("plain", id);

	b.has_policy = b.has_priority = true;
	b.policy = (Pb__PriorityBoostConfig__BoostPolicy)policy;
	b.priority = priority;
	c.priority_boost = &b;
	instance_table_setup(all, id, &c);
}

FIXTURE_TEST(the_strongest_boost_counts)
{
	run("plain", 1);
	strbuf_clear(&story);
	set_up_boosted(2, 1, 10);
	assert_story("create:2 [boost:1/10]");
	set_up_boosted(3, 1, 5);
	set_up_boosted(4, 1, 10);
	assert_story("create:3 create:4");
	set_up_boosted(5, 2, 1);
	assert_story("create:5 [boost:3/1]");
	set_up_boosted(6, 1, 20);
	instance_table_stop(all, 5);
	assert_story("create:6 destroy:5 [boost:1/20] [stopped:5]");
	instance_table_stop(all, 6);
	assert_story("destroy:6 [boost:1/10] [stopped:6]");
	instance_table_stop(all, 2);
	assert_story("destroy:2 [stopped:2]");
	instance_table_stop(all, 4);
	assert_story("destroy:4 [boost:1/5] [stopped:4]");
	instance_table_stop(all, 3);
	assert_story("destroy:3 [boost:0/0] [stopped:3]");
}

/* What a source does late is lost: it has priority where its config does not say which. */
FIXTURE_TEST(a_source_that_has_to_be_in_time_is_boosted)
{
	Pb__DataSourceConfig c = config_of("timely", 1);

	instance_table_setup(all, 1, &c);
	assert_story("create:1 [boost:2/0]");
	set_up_boosted(2, 1, 3);
	assert_story("create:2");
	instance_table_stop(all, 1);
	instance_table_free(all);
	all = instance_table_new(sources, &env, &ops, NULL);
	assert_true(strstr(story.s, "[boost:1/3]") != NULL);
	strbuf_clear(&story);
}

FIXTURE_TEST(a_boost_without_an_instance_is_none)
{
	set_up_boosted(1, 1, 21);
	assert_story("create:1 [bad boost:plain]");
	create_result = -EIO;
	set_up_boosted(2, 2, 50);
	assert_story("[failed:plain:-5]");
	create_result = 0;
}

FIXTURE_TEST(a_boost_ends_with_the_connection)
{
	set_up_boosted(1, 2, 50);
	set_up_boosted(2, 1, 20);
	strbuf_clear(&story);
	instance_table_free(all);
	assert_story("destroy:2 destroy:1 [boost:0/0]");
	all = instance_table_new(sources, &env, &ops, NULL);
}

FIXTURE_TEST(there_is_a_limit)
{
	Pb__DataSourceConfig c = config_of("nobody's", 8);

	for (unsigned i = 1; i <= DS_INSTANCES_MAX; i++)
		instance_table_setup(all, i, &c);
	strbuf_clear(&story);
	instance_table_setup(all, 5000, &c);
	assert_story("[failed:nobody's:-7]");
	instance_table_start(all, 5000, &c);
	assert_story("[failed:nobody's:-7] [started:5000]");
	instance_table_stop(all, 5000);
	assert_story("[stopped:5000]");
	instance_table_stop(all, 1);
	instance_table_setup(all, 5001, &c);
	assert_story("[stopped:1] [failed:nobody's:-2]");
}

/* ---- flushes ---- */

FIXTURE_TEST(a_flush_waits_for_all_it_names)
{
	const uint64_t ids[] = {3, 1, 99};

	run("plain", 1);
	run("plain", 2);
	run("clearing", 3);
	answer_later = true;
	instance_table_flush(all, ids, 3, 5, 0);
	assert_story("flush:3/5 flush:1/5");
	ds_flushed(fakes[1]->h, 5);
	ds_flushed(fakes[1]->h, 5);
	ds_flushed(fakes[2]->h, 5); /* was not asked */
	assert_story("");
	ds_flushed(fakes[3]->h, 5);
	assert_story("[flushed/5]");
	instance_table_flush(all, NULL, 0, 6, 0);
	assert_story("[flushed/6]");
}

/* The service takes an answer for all flushes before it, too. */
FIXTURE_TEST(flushes_are_answered_in_order)
{
	const uint64_t one[] = {1}, two[] = {2};

	run("plain", 1);
	run("plain", 2);
	answer_later = true;
	instance_table_flush(all, one, 1, 5, 0);
	instance_table_flush(all, two, 1, 6, 0);
	instance_table_flush(all, NULL, 0, 7, 0);
	assert_story("flush:1/5 flush:2/6");
	ds_flushed(fakes[2]->h, 6);
	assert_story("");
	ds_flushed(fakes[1]->h, 5);
	assert_story("[flushed/7]");
}

FIXTURE_TEST(a_flush_does_not_wait_for_what_has_stopped)
{
	const uint64_t ids[] = {1, 2};

	run("plain", 1);
	run("plain", 2);
	answer_later = true;
	instance_table_flush(all, ids, 2, 5, 0);
	ds_flushed(fakes[2]->h, 5);
	answer_later = false;
	strbuf_clear(&story);
	instance_table_stop(all, 1);
	assert_story("stop:1 destroy:1 [stopped:1] [flushed/5]");
	answer_later = true;
	instance_table_stop(all, 2);
	strbuf_clear(&story);
	instance_table_flush(all, ids, 2, 6, 0); /* stopping: not asked any more */
	assert_story("[flushed/6]");
}

FIXTURE_TEST(a_flush_without_an_answer_times_out)
{
	const uint64_t ids[] = {1};
	uint64_t start = clock_mono_ns();

	run("plain", 1);
	answer_later = true;
	instance_table_flush(all, ids, 1, 5, 0);
	instance_table_flush(all, ids, 1, 6, 0);
	strbuf_clear(&story);
	while (!story.len || !strstr(story.s, "/6]")) {
		event_base_loop(env.loop, EVLOOP_ONCE);
		assert_true(clock_mono_ns() - start < 20 * NS_PER_S);
	}
	/* in one go, or in two */
	assert_true(strcmp(story.s, "[flushed/6]") == 0 ||
		    strcmp(story.s, "[flushed/5] [flushed/6]") == 0);
	assert_true(clock_mono_ns() - start >= 900 * NS_PER_MS);
	strbuf_clear(&story);
	ds_flushed(fakes[1]->h, 5); /* too late */
	assert_story("");
}

FIXTURE_TEST(a_flush_before_a_stop_says_so)
{
	const uint64_t ids[] = {1};

	run("plain", 1);
	instance_table_flush(all, ids, 1, 5, FLUSH_REASON_STOP | FLUSH_BY_SERVICE);
	assert_story("flush:1/5 last [flushed/5]");
	instance_table_flush(all, ids, 1, 6, FLUSH_REASON_CLONE | FLUSH_BY_SERVICE);
	assert_story("flush:1/6 [flushed/6]");
}

FIXTURE_TEST(many_open_flushes_end_the_oldest)
{
	const uint64_t ids[] = {1};

	run("plain", 1);
	answer_later = true;
	for (unsigned i = 1; i <= DS_INSTANCES_MAX_FLUSHES; i++)
		instance_table_flush(all, ids, 1, i, 0);
	strbuf_clear(&story);
	instance_table_flush(all, ids, 1, 1000, 0);
	assert_story("[flushed/1] flush:1/1000");
}

/* ---- writers ---- */

FIXTURE_TEST(a_writer_has_the_buffer_and_policy_of_its_config)
{
	Pb__DataSourceConfig c = config_of("plain", 7);
	struct arbiter_options o = {.ops = &fake_ops, .stall_ms = 1};
	static struct fake_service s;
	struct writer *drop, *stall;

	fake_init(&s, 4096, 1);
	s.hold = true;
	o.ctx = &s;
	assert_int_equal(arbiter_new(&o, &env.arbiter), 0);
	s.a = env.arbiter;
	assert_int_equal(arbiter_attach(env.arbiter, s.fd, 4096), 0);
	instance_table_setup(all, 7, &c);
	stall = ds_writer_new(fakes[7]->h);
	c.has_buffer_exhausted_policy = true;
	c.buffer_exhausted_policy =
		PB__DATA_SOURCE_CONFIG__BUFFER_EXHAUSTED_POLICY__BUFFER_EXHAUSTED_DROP;
	c.tracing_session_id = 8;
	instance_table_setup(all, 8, &c);
	drop = ds_writer_new(fakes[8]->h);
	assert_int_equal(s.target_of[1], 3);
	assert_int_equal(s.target_of[2], 3);
	writer_begin(stall);
	writer_end(stall);
	writer_flush(stall); /* the memory is full now, and the service asleep */
	writer_begin(drop);
	writer_end(drop);
	assert_int_equal(s.n_drains, 0);
	writer_begin(stall);
	writer_end(stall);
	assert_int_not_equal(s.n_drains, 0);
	writer_free(drop);
	writer_free(stall);
	strbuf_clear(&story);
	arbiter_free(env.arbiter);
	fake_deinit(&s);
}
