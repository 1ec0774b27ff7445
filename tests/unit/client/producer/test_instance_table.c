/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens is written into one line of text, in its order: what instances ask of a source
 * ("start:7") and what they answer to the service ("[started:7]"). Most tests are text as well:
 * what the service and the sources do, a step a line, and what comes of it, compared where there is
 * an arrow (with nothing behind it: nothing came).
 *
 *	setup, start SOURCE ID	  of a source of `sources` (other names: there is none) and an instance
 *	boosted ID POLICY PRIO	  the setup of an instance of "plain" with a priority boost
 *	wished ID POLICY PRIO	  the same, for a consumer that is not root
 *	stop ID
 *	flush FLUSH ID...	  the service asks for it; "last": before a stop, "clone": for a clone
 *	clear ID...
 *	started ID, stopped ID, flushed ID FLUSH
 *				  the source answers, which it does by itself but after "later" (and "now" again)
 *	fail ERROR		  sources cannot be created; 0: they can
 *	turn			  of the event loop
 *	end			  of the connection
 */

#include <event2/event.h>
#include <inttypes.h>

#include "base/core/clock.h"
#include "base/text/str.h"
#include "client/producer/instance_table.h"
#include "client/transport/arbiter.h"
#include "config/limits.h"
#include "unit/client/fake_service.h"
#include "unit/fixture.h"

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
	unsigned number; /* the session's id, to tell them apart */
};

static struct fake *fakes[100]; /* by number: the last one */

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

	note("flush:%u/%u%s", f->number, (unsigned)flush_id,
	     ds_flush_precedes_stop(f->h) ? " last" : "");
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

/* ---- what the table reports ---- */

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

static struct {
	unsigned n;
	int error;
	uint16_t buffer;
	char name[32];
} nothing;

static void on_records_nothing(void *ctx, uint16_t target_buffer, const char *name, int error)
{
	nothing.n++;
	nothing.error = error;
	nothing.buffer = target_buffer;
	snprintf(nothing.name, sizeof(nothing.name), "%s", name);
}

static void on_boosted(void *ctx, struct priority_boost strongest)
{
	note("[boost:%u/%u]", (unsigned)strongest.policy, strongest.priority);
}

static void on_bad_boost(void *ctx, const char *name, const char *why)
{
	note("[bad boost:%s %.4s]", name, why);
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
	.records_nothing = on_records_nothing,
	.boosted = on_boosted,
	.bad_boost = on_bad_boost,
};

static struct ds_env env;
static struct instance_table *all;

SETUP
{
	answer_later = false;
	create_result = 0;
	nothing.n = 0;
	env.loop = event_base_new();
	all = instance_table_new(sources, &env, &ops, NULL);
	assert_true(all);
}

TEARDOWN
{
	instance_table_free(all);
	event_base_free(env.loop);
	strbuf_deinit(&story);
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

/* Returns whether the table treats the consumer of a new instance as root. */
static bool is_for_root(bool has_uid, uint32_t uid)
{
	static unsigned id = 1000;
	Pb__DataSourceConfig c = config_of("plain", 1);

	c.has_consumer_uid = has_uid;
	c.consumer_uid = uid;
	instance_table_setup(all, ++id, &c);
	return ds_consumer_is_root(fakes[1]->h);
}

FIXTURE_TEST(a_consumer_is_root_only_if_the_service_is_trusted)
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

/* ---- tests as text ---- */

static void set_up_boosted(unsigned id, int policy, unsigned priority, uint32_t uid)
{
	Pb__PriorityBoostConfig b = PB__PRIORITY_BOOST_CONFIG__INIT;
	Pb__DataSourceConfig c = config_of("plain", id);

	b.has_policy = b.has_priority = true;
	b.policy = (Pb__PriorityBoostConfig__BoostPolicy)policy;
	b.priority = priority;
	c.priority_boost = &b;
	c.has_consumer_uid = true;
	c.consumer_uid = uid;
	env.knows_consumers = true;
	instance_table_setup(all, id, &c);
	env.knows_consumers = false;
}

/* Reads the numbers that stand in the text. */
static size_t read_ids(const char *text, uint64_t *ids)
{
	size_t n = 0;
	int used;

	for (; sscanf(text, " %" SCNu64 "%n", &ids[n], &used) == 1; text += used)
		n++;
	return n;
}

static void step(const char *what, const char *rest)
{
	unsigned a = 0, b = 0, c = 0;
	char source[32] = "";
	uint64_t ids[8] = {0};
	size_t n = read_ids(rest, ids);

	sscanf(rest, "%u %u %u", &a, &b, &c);
	if (sscanf(rest, " %31s %u", source, &b) == 2 &&
	    (!strcmp(what, "setup") || !strcmp(what, "start"))) {
		Pb__DataSourceConfig config = config_of(source, b);

		(what[1] == 'e' ? instance_table_setup : instance_table_start)(all, b, &config);
		return;
	}
	if (!strcmp(what, "boosted"))
		set_up_boosted(a, (int)ids[1], c, 0);
	else if (!strcmp(what, "wished"))
		set_up_boosted(a, (int)ids[1], c, 4242);
	else if (!strcmp(what, "stop"))
		instance_table_stop(all, a);
	else if (!strcmp(what, "flush"))
		instance_table_flush(all, ids + 1, n - 1, a,
				     strstr(rest, "last")    ? FLUSH_REASON_STOP | FLUSH_BY_SERVICE
				     : strstr(rest, "clone") ? FLUSH_REASON_CLONE | FLUSH_BY_SERVICE
							     : 0);
	else if (!strcmp(what, "clear"))
		instance_table_clear(all, ids, n);
	else if (!strcmp(what, "started"))
		ds_started(fakes[a]->h);
	else if (!strcmp(what, "stopped"))
		ds_stopped(fakes[a]->h);
	else if (!strcmp(what, "flushed"))
		ds_flushed(fakes[a]->h, ids[1]);
	else if (!strcmp(what, "later") || !strcmp(what, "now"))
		answer_later = what[0] == 'l';
	else if (!strcmp(what, "fail"))
		create_result = -(int)a;
	else if (!strcmp(what, "turn"))
		event_base_loop(env.loop, EVLOOP_NONBLOCK);
	else if (!strcmp(what, "end"))
		instance_table_free(TAKE_PTR(all));
	else
		fail_msg("what is \"%s\"?", what);
}

static void play(const char *text)
{
	char line[256], what[32];
	size_t len;
	int used;

	for (; *text; text += len + (text[len] == '\n')) {
		char *arrow;

		len = strcspn(text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)len, text);
		arrow = strstr(line, " ->");
		if (arrow)
			*arrow = '\0';
		assert_int_equal(sscanf(line, "%31s%n", what, &used), 1);
		step(what, line + used);
		if (arrow && strcmp(story.s ? story.s : "", arrow + 3 + (arrow[3] == ' ')))
			fail_msg("\"%s\" is followed by \"%s\"", line, story.s ? story.s : "");
		if (arrow)
			strbuf_clear(&story);
	}
	if (!all)
		all = instance_table_new(sources, &env, &ops, NULL);
}

#define STORY(name, text)                                                                          \
	FIXTURE_TEST(name)                                                                         \
	{                                                                                          \
		play(text);                                                                        \
	}

/* ---- life ---- */

STORY(a_whole_life, "setup clearing 7 -> create:7\n"
		    "setup clearing 7 ->\n"
		    "start clearing 7 -> start:7 [started:7]\n"
		    "start clearing 7 ->\n"
		    "flush 5 7 -> flush:7/5 [flushed/5]\n"
		    "clear 7 -> clear:7\n"
		    "stop 7 -> stop:7 destroy:7 [stopped:7]\n"
		    "turn ->\n"
		    "stop 7 -> [stopped:7]") /* it is unknown by now */

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

STORY(answers_may_come_later, "later\n"
			      "setup plain 7\n"
			      "start plain 7 -> create:7 start:7\n"
			      "started 7\n"
			      "started 7 -> [started:7]\n"
			      "flush 5 7 -> flush:7/5\n"
			      "flushed 7 4 ->\n" /* there is no such flush */
			      "flushed 7 5\n"
			      "flushed 7 5 -> [flushed/5]\n"
			      "stopped 7\n" /* before it was asked to */
			      "turn ->\n"
			      "stop 7\n"
			      "stop 7 -> stop:7\n"
			      "turn ->\n"
			      "stopped 7 ->\n" /* it is freed by the loop, not in its own call */
			      "turn -> destroy:7 [stopped:7]")

FIXTURE_TEST(a_start_without_setup_sets_up)
{
	play("start plain 7 -> create:7 start:7 [started:7]");
	instance_table_start(all, 71, NULL);
	assert_story("[failed::-2] [started:71]");
	play("stop 71 -> [stopped:71]");
}

STORY(a_stop_before_the_start_destroys, "setup plain 7\n"
					"stop 7 -> create:7 destroy:7 [stopped:7]")

STORY(failures_are_answered_too, "fail 13\n"
				 "setup plain 7 -> [failed:plain:-13]\n"
				 "start plain 7 -> [started:7]\n" /* not tried again */
				 "setup no.such 8 -> [failed:no.such:-2]\n"
				 "start no.such 8 -> [started:8]\n"
				 "flush 9 7 8 9 -> [flushed/9]\n"
				 "clear 7 8 9 ->\n"
				 "stop 7 -> [stopped:7]\n"
				 "stop 8 -> [stopped:8]\n"
				 "stop 9 -> [stopped:9]")

STORY(the_end_stops_all_then_destroys_all,
      "start plain 1\n"
      "start plain 2\n"
      "setup plain 3\n"
      "later\n"
      "start plain 4\n"
      "stop 4 -> create:1 start:1 [started:1] create:2 start:2 [started:2] create:3 create:4 "
      "start:4 stop:4\n"
      "now\n" /* 4 is still about to */
      "end -> stop:2 stop:1 destroy:4 destroy:3 destroy:2 destroy:1")

/* ---- priority ---- */

STORY(the_strongest_boost_counts, "start plain 1 -> create:1 start:1 [started:1]\n"
				  "boosted 2 1 10 -> create:2 [boost:1/10]\n"
				  "boosted 3 1 5 -> create:3\n"
				  "boosted 4 1 10 -> create:4\n"
				  "boosted 5 2 1 -> create:5 [boost:3/1]\n"
				  "boosted 6 1 20 -> create:6\n"
				  "stop 5 -> destroy:5 [boost:1/20] [stopped:5]\n"
				  "stop 6 -> destroy:6 [boost:1/10] [stopped:6]\n"
				  "stop 2 -> destroy:2 [stopped:2]\n"
				  "stop 4 -> destroy:4 [boost:1/5] [stopped:4]\n"
				  "stop 3 -> destroy:3 [boost:0/0] [stopped:3]")

/* Events are lost while it waits: such a source has priority where its config does not say
 * which. */
STORY(a_timely_source_is_boosted, "setup timely 1 -> create:1 [boost:2/0]\n"
				  "boosted 2 1 3 -> create:2\n"
				  "stop 1 -> destroy:1 [boost:1/3] [stopped:1]")

STORY(a_boost_without_an_instance_is_none, "boosted 1 1 21 -> create:1 [bad boost:plain must]\n"
					   "fail 5\n"
					   "boosted 2 2 50 -> [failed:plain:-5]")

STORY(a_boost_is_for_root_only, "boosted 1 1 3 -> create:1 [boost:1/3]\n"
				"wished 2 2 99 -> create:2 [bad boost:plain need]\n"
				"wished 3 1 20 -> create:3 [bad boost:plain need]\n"
				"wished 4 1 0 -> create:4\n"
				"stop 1 -> destroy:1 [boost:1/0] [stopped:1]")

STORY(a_boost_ends_with_the_connection, "boosted 1 2 50 -> create:1 [boost:3/50]\n"
					"boosted 2 1 20 -> create:2\n"
					"end -> destroy:2 destroy:1 [boost:0/0]")

FIXTURE_TEST(instances_have_a_limit)
{
	Pb__DataSourceConfig c = config_of("no.such", 8);

	env.trusts_consumers = true;

	for (unsigned i = 1; i <= DS_INSTANCES_MAX; i++)
		instance_table_setup(all, i, &c);
	strbuf_clear(&story);
	instance_table_setup(all, 5000, &c);
	assert_story("[failed:no.such:-7]");
	instance_table_start(all, 5000, &c);
	assert_story("[failed:no.such:-7] [started:5000]");
	instance_table_stop(all, 5000);
	assert_story("[stopped:5000]");
	instance_table_stop(all, 1);
	instance_table_setup(all, 5001, &c);
	assert_story("[stopped:1] [failed:no.such:-2]");
	env.trusts_consumers = false;
}

static unsigned next_id = 100;

/* Sets one up and starts it for a user; 0: root. Returns how many record nothing so far. */
static unsigned record_for(uint32_t uid, const char *source)
{
	Pb__DataSourceConfig c = config_of(source, 9);

	c.has_consumer_uid = uid != CONSUMER_UNKNOWN;
	c.consumer_uid = uid;
	instance_table_setup(all, ++next_id, &c);
	instance_table_start(all, next_id, &c);
	strbuf_clear(&story);
	return nothing.n;
}

FIXTURE_TEST(users_have_a_share_of_each_data_source_and_root_is_exempt)
{
	env.knows_consumers = true;
	for (unsigned i = 0; i < DS_INSTANCES_OF_USER; i++)
		assert_int_equal(record_for(4242, "plain"), 0);
	assert_int_equal(record_for(4242, "plain"), 1);
	assert_int_equal(nothing.error, -EDQUOT);
	assert_int_equal(nothing.buffer, 3);
	assert_string_equal(nothing.name, "plain");
	assert_int_equal(record_for(4242, "clearing"), 1); /* another source */
	assert_int_equal(record_for(0, "plain"), 1);
	/* What has ended is for the next one. */
	instance_table_stop(all, 101);
	assert_int_equal(record_for(4242, "plain"), 1);
	assert_int_equal(record_for(4242, "plain"), 2);
	for (unsigned i = DS_INSTANCES_OF_USER; i < DS_INSTANCES_OF_OTHERS; i++)
		assert_int_equal(record_for(1000 + i, "plain"), 2);
	assert_int_equal(record_for(5000, "plain"), 3);
	for (unsigned i = 0; i < 60; i++)
		assert_int_equal(record_for(0, "plain"), 3);
	env.knows_consumers = false;
}

/* At the end of a long session the buffer no longer has what was written at its start. */
FIXTURE_TEST(a_source_that_records_nothing_is_reported_again_at_the_end)
{
	Pb__DataSourceConfig c = config_of("no.such", 9);
	const uint64_t id = 7;

	instance_table_start(all, id, &c);
	assert_int_equal(nothing.n, 1);
	instance_table_flush(all, &id, 1, 1, FLUSH_REASON_PERIODIC);
	assert_int_equal(nothing.n, 1);
	instance_table_flush(all, &id, 1, 2, FLUSH_REASON_CLONE);
	instance_table_flush(all, &id, 1, 3, FLUSH_REASON_STOP);
	assert_int_equal(nothing.n, 3);
	assert_string_equal(nothing.name, "no.such");
}

FIXTURE_TEST(unknown_users_share_what_all_users_may_have)
{
	for (unsigned i = 0; i < DS_INSTANCES_OF_OTHERS; i++)
		assert_int_equal(record_for(CONSUMER_UNKNOWN, "plain"), 0);
	assert_int_equal(record_for(CONSUMER_UNKNOWN, "plain"), 1);
}

/* A user's session with a thousand sources, of which few are created. */
FIXTURE_TEST(refused_instances_leave_room_for_those_of_root)
{
	env.knows_consumers = true;
	for (unsigned i = 0; i < 2 * DS_INSTANCES_MAX; i++)
		record_for(4242, "no.such");
	assert_int_equal(nothing.error, -E2BIG);
	assert_int_equal(nothing.n, 2 * DS_INSTANCES_MAX);
	for (unsigned i = 0; i < DS_INSTANCES_MAX - DS_INSTANCES_OF_OTHERS_MAX; i++)
		assert_int_equal(record_for(0, "plain"), 2 * DS_INSTANCES_MAX);
	env.knows_consumers = false;
}

/* ---- flushes ---- */

#define RUNNING(id) "start plain " #id " -> create:" #id " start:" #id " [started:" #id "]\n"

STORY(a_flush_waits_for_all_that_it_names,
      RUNNING(1) RUNNING(2) "start clearing 3 -> create:3 start:3 [started:3]\n"
			    "later\n"
			    "flush 5 3 1 99 -> flush:3/5 flush:1/5\n"
			    "flushed 1 5\n"
			    "flushed 1 5\n"
			    "flushed 2 5 ->\n" /* was not asked */
			    "flushed 3 5 -> [flushed/5]\n"
			    "flush 6 -> [flushed/6]")

/* The service takes an answer for all flushes before it, too. */
STORY(flushes_are_answered_in_order, RUNNING(1) RUNNING(2) "later\n"
							   "flush 5 1 -> flush:1/5\n"
							   "flush 6 2 -> flush:2/6\n"
							   "flush 7 ->\n"
							   "flushed 2 6 ->\n"
							   "flushed 1 5 -> [flushed/7]")

STORY(a_flush_does_not_wait_for_what_has_stopped,
      RUNNING(1) RUNNING(2) "later\n"
			    "flush 5 1 2 -> flush:1/5 flush:2/5\n"
			    "flushed 2 5 ->\n"
			    "now\n"
			    "stop 1 -> stop:1 destroy:1 [stopped:1] [flushed/5]\n"
			    "later\n"
			    "stop 2 -> stop:2\n"
			    "flush 6 1 2 -> [flushed/6]") /* it stops: not asked any more */

FIXTURE_TEST(a_flush_without_an_answer_times_out)
{
	const uint64_t ids[] = {1};
	uint64_t start = clock_mono_ns();

	play(RUNNING(1) "later");
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

STORY(a_flush_before_a_stop_says_so, RUNNING(1) "flush 5 1 last -> flush:1/5 last [flushed/5]\n"
						"flush 6 1 clone -> flush:1/6 [flushed/6]")

FIXTURE_TEST(many_open_flushes_end_the_oldest)
{
	const uint64_t ids[] = {1};

	play(RUNNING(1) "later");
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
	arbiter_free(TAKE_PTR(env.arbiter));
	fake_deinit(&s);
}
