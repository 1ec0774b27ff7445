/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which events are enabled for a subscriber, and when what is published. With a kernel:
 * tests/root/test_short_lived.sh.
 */
#include "ftrace/format/metadata_fields.h"
#include "ftrace/session/metadata_publisher.h"
#include "unit/ftrace/setups.h"

#define SESSION 7

static const struct clock_sync boot;
static struct metadata_bus *bus;
static struct metadata_publisher publisher;
static struct event_table table;
static struct event_selection selected;
static struct page_encoder encoder;
static struct {
	unsigned calls, empty;
	size_t n_tasks, n_tids;
} published;

static void on_batch(void *ctx, const struct metadata_batch *n)
{
	published.calls++;
	published.empty += !n->n_tasks && !n->n_tids;
	published.n_tasks += n->n_tasks;
	published.n_tids += n->n_tids;
}

static void begin_setup(const char *config)
{
	setup_begin(config);
	setup.events = &selected;
}

SETUP
{
	fake_root_new();
	fake_formatted_event("task/task_newtask", 1,
			     FIELD("pid_t pid", 8, 4, 1) FIELD("char comm[16]", 12, 16, 0)
				     FIELD("u64 clone_flags", 32, 8, 0));
	fake_formatted_event("task/task_rename", 2,
			     FIELD("pid_t pid", 8, 4, 1) FIELD("char oldcomm[16]", 12, 16, 0)
				     FIELD("char newcomm[16]", 28, 16, 0));
	fake_formatted_event("sched/sched_process_exec", 3,
			     FIELD("__data_loc char[] filename", 8, 4, 0)
				     FIELD("pid_t pid", 12, 4, 1) FIELD("pid_t old_pid", 16, 4, 1));
	fake_formatted_event("sched/sched_process_exit", 4,
			     FIELD("char comm[16]", 8, 16, 0) FIELD("pid_t pid", 24, 4, 1));
	begin_setup("");
	bus = metadata_bus_new();
	memset(&published, 0, sizeof(published));
	memset(&encoder, 0, sizeof(encoder));
	metadata_publisher_register(&publisher, bus, SESSION);
}

TEARDOWN
{
	metadata_publisher_unregister(&publisher, &boot);
	metadata_bus_unsubscribe(bus, SESSION, &published);
	metadata_bus_free(bus);
	event_table_deinit(&table);
	event_selection_deinit(&selected);
	setup_remove();
}

static void listen(void)
{
	assert_int_equal(metadata_bus_subscribe(bus, SESSION, on_batch, &published), 0);
}

static void begin(void)
{
	metadata_publisher_begin(&publisher, &setup, &table);
	metadata_publisher_prepare_encoder(&publisher, &encoder, UINT64_MAX);
}

/* In an instance of another process. */
static void begin_in_override(void)
{
	instance.override = (struct override *)&instance;
	begin();
	instance.override = NULL;
}

static void register_again(void)
{
	metadata_publisher_unregister(&publisher, &boot);
	metadata_publisher_register(&publisher, bus, SESSION);
}

/* An event that the session records by its config. */
static void add_recorded_event(const char *group, const char *name)
{
	const struct event_table_options options = {0};
	char path[128], *format;
	uint16_t id;

	snprintf(path, sizeof(path), "instances/x/events/%s/%s/format", group, name);
	format = strdup(fake_read(path));
	assert_int_equal(event_table_add(&table, group, name, format, &options, &id), 0);
	free(format);
}

static bool is_on(const char *event)
{
	char file[128];

	snprintf(file, sizeof(file), "events/%s/enable", event);
	return !strcmp(fake_written(file), "1");
}

static enum compiled_kind kind_of(uint16_t id)
{
	assert_non_null(event_table_get(&table, id));
	return event_table_get(&table, id)->kind;
}

FIXTURE_TEST(without_a_subscriber_no_event_is_enabled)
{
	assert_true(metadata_bus_has_publisher(bus, SESSION));
	begin();
	assert_false(is_on("task/task_newtask"));
	assert_int_equal(table.n_events, 0);
	assert_null(encoder.ctx.tids);
	assert_null(encoder.ctx.metadata);
	metadata_publisher_publish(&publisher, &boot, UINT64_MAX);
	assert_int_equal(n_failed(), 0);
}

FIXTURE_TEST(without_a_metadata_bus)
{
	metadata_publisher_unregister(&publisher, &boot);
	metadata_publisher_register(&publisher, NULL, SESSION);
	begin();
	metadata_publisher_set_busy(&publisher, true);
	assert_null(encoder.ctx.tids);
}

FIXTURE_TEST(events_for_a_listener)
{
	listen();
	begin();
	assert_true(is_on("task/task_newtask"));
	assert_true(is_on("task/task_rename"));
	assert_true(is_on("sched/sched_process_exec"));
	assert_true(is_on("sched/sched_process_exit"));
	for (uint16_t id = 1; id <= 4; id++)
		assert_int_equal(kind_of(id), COMPILED_METADATA);
	assert_ptr_equal(encoder.ctx.tids, &publisher.collected.tids);
	assert_ptr_equal(encoder.ctx.metadata, &publisher.collected);
	assert_true(metadata_bus_is_complete(bus, SESSION));
	assert_int_equal(n_failed(), 0);
	/* Once. */
	begin();
	assert_int_equal(table.n_events, 4);
}

FIXTURE_TEST(task_events_may_be_left_to_another_data_source)
{
	((Pb__FtraceConfig *)setup.config)->without_task_events = true;
	listen();
	begin();
	assert_int_equal(table.n_events, 0);
	assert_false(metadata_bus_is_complete(bus, SESSION));
	assert_ptr_equal(encoder.ctx.tids, &publisher.collected.tids);
	event_selection_add(&selected, "sched", "sched_process_exec");
	event_selection_add(&selected, "sched", "sched_process_fork");
	event_selection_add(&selected, "sched", "sched_switch");
	event_selection_add(&selected, "task", "task_newtask");
	metadata_publisher_drop_events(&selected);
	assert_int_equal(selected.n, 1);
	assert_string_equal(selected.events[0].name, "sched_switch");
}

FIXTURE_TEST(events_that_are_asked_for_are_left_as_they_are)
{
	add_recorded_event("task", "task_rename");
	listen();
	begin();
	assert_int_equal(table.n_events, 4);
	assert_int_equal(kind_of(2), COMPILED_FIELDS);
	assert_int_equal(table.events[0]->metadata.kind, METADATA_RENAMED);
	assert_false(is_on("task/task_rename")); /* the session does that */
	assert_true(is_on("task/task_newtask"));
}

FIXTURE_TEST(events_that_fail_are_reported)
{
	fake_refusal("events/task/task_rename/enable");
	fake_text("instances/x/events/task/task_newtask/format", "noise");
	unlink(fake_path("instances/x/events/sched/sched_process_exec/format"));
	listen();
	begin();
	assert_int_equal(n_failed(), 3);
	assert_non_null(strstr(errors.failed[0], "task/task_newtask (unexpected format; "));
	assert_non_null(strstr(errors.failed[1], "task/task_rename ("));
	assert_non_null(
		strstr(errors.failed[2], "sched/sched_process_exec (No such file or directory; "));
	for (uint16_t id = 1; id <= 4; id++)
		assert_int_equal(event_table_get(&table, id) != NULL, id == 4);
	/* All that was collected is published. */
	assert_false(metadata_bus_is_complete(bus, SESSION));
	assert_ptr_equal(encoder.ctx.tids, &publisher.collected.tids);
}

FIXTURE_TEST(without_an_instance)
{
	struct instance none = {0};

	listen();
	setup.instance = &none;
	metadata_publisher_begin(&publisher, &setup, &table);
	metadata_publisher_prepare_encoder(&publisher, &encoder, UINT64_MAX);
	assert_null(encoder.ctx.tids);
	assert_int_equal(n_failed(), 0);
}

FIXTURE_TEST(an_instance_of_another_process)
{
	listen();
	begin_in_override();
	assert_false(is_on("task/task_newtask"));
	assert_int_equal(table.n_events, 0);
	assert_int_equal(n_failed(), 0);
	/* All of what is enabled there is published. */
	assert_false(metadata_bus_is_complete(bus, SESSION));
	assert_ptr_equal(encoder.ctx.tids, &publisher.collected.tids);
}

/* Even where all of their events are on: its owner may have left some out. */
FIXTURE_TEST(tasks_of_an_instance_of_another_process_are_not_complete)
{
	listen();
	begin();
	register_again();
	begin_in_override();
	assert_false(metadata_bus_is_complete(bus, SESSION));
}

/* All of their events are on, but do not come always. */
FIXTURE_TEST(tasks_are_promised_where_none_is_left_out)
{
	static const char *const restricted[] = {
		"tids_to_trace: 5",
		"tracing_cpumask: '1'",
		"event_triggers { event: 'a' action: ACTION_TRACEOFF }",
		"event_triggers { event: 'a' action: ACTION_TRACEON }",
	};

	listen();
	for (unsigned i = 0; i < ARRAY_SIZE(restricted); i++) {
		begin_setup(restricted[i]);
		begin();
		assert_int_equal(table.n_events, 4);
		assert_false(metadata_bus_is_complete(bus, SESSION));
		register_again();
	}
	begin_setup("event_triggers { event: 'a' action: ACTION_STACKTRACE }");
	begin();
	assert_true(metadata_bus_is_complete(bus, SESSION));
}

FIXTURE_TEST(tasks_with_a_filter_are_not_promised)
{
	add_recorded_event("task", "task_rename");
	assert_int_equal(event_selection_add(&selected, "task", "task_rename"), 0);
	listen();
	selected.events[0].filter = strdup("pid == 1");
	begin();
	assert_int_equal(table.n_events, 4);
	assert_false(metadata_bus_is_complete(bus, SESSION));
	/* That event without one is fine. */
	register_again();
	free(selected.events[0].filter);
	selected.events[0].filter = NULL;
	begin();
	assert_true(metadata_bus_is_complete(bus, SESSION));
}

FIXTURE_TEST(a_loss_ends_the_promise)
{
	metadata_publisher_set_incomplete(&publisher); /* before it began */
	listen();
	begin();
	assert_true(metadata_bus_is_complete(bus, SESSION));
	metadata_publisher_set_incomplete(&publisher);
	assert_false(metadata_bus_is_complete(bus, SESSION));
	assert_ptr_equal(encoder.ctx.tids, &publisher.collected.tids);
}

FIXTURE_TEST(batches_are_published_when_complete)
{
	listen();
	begin(); /* and it says that it is complete */
	assert_int_equal(published.empty, 1);
	metadata_publisher_publish(&publisher, &boot, 10);
	assert_int_equal(published.calls, 1);
	tid_list_add(&publisher.collected.tids, 70);
	metadata_publisher_publish(&publisher, &boot, 20);
	assert_int_equal(published.n_tids, 1);
	assert_int_equal(metadata_bus_published_until(bus, SESSION, true), 20);
	metadata_publisher_publish(&publisher, &boot, 30);
	assert_int_equal(published.calls, 2);
	/* Also where nothing happened. */
	assert_int_equal(metadata_bus_published_until(bus, SESSION, true), 30);
	/* The rest when it leaves, and then that it has left. */
	tid_list_add(&publisher.collected.tids, 70);
	metadata_publisher_unregister(&publisher, &boot);
	assert_int_equal(published.n_tids, 2);
	assert_int_equal(published.calls, 4);
	assert_int_equal(published.empty, 2);
	assert_false(metadata_bus_has_publisher(bus, SESSION));
	metadata_publisher_unregister(&publisher, &boot);
	assert_int_equal(published.calls, 4);
}

FIXTURE_TEST(many_tasks_are_published_early)
{
	static const struct metadata_fields plan = {METADATA_RENAMED, 0, 4, 8, 0};
	static const uint8_t bytes[24] = {0};

	listen();
	begin();
	for (unsigned i = 0; i <= METADATA_MAX_TASKS / 2; i++)
		metadata_add(&publisher.collected, &plan,
			     &(struct ring_record){.time = 100, .payload = bytes, .len = 24}, 1);
	metadata_publisher_publish(&publisher, &boot, 10);
	assert_int_equal(published.n_tasks, METADATA_MAX_TASKS / 2 + 1);
	/* Other CPUs may have more of the time since then. */
	assert_int_equal(metadata_bus_published_until(bus, SESSION, true), 10);
}

FIXTURE_TEST(a_listener_that_leaves)
{
	listen();
	begin();
	metadata_bus_unsubscribe(bus, SESSION, &published);
	metadata_publisher_prepare_encoder(&publisher, &encoder, UINT64_MAX);
	assert_null(encoder.ctx.tids);
	assert_null(encoder.ctx.metadata);
}

FIXTURE_TEST(a_busy_publisher_is_busy_on_the_bus)
{
	metadata_publisher_set_busy(&publisher, true);
	assert_true(metadata_bus_is_busy(bus, SESSION));
	metadata_publisher_set_busy(&publisher, false);
	assert_false(metadata_bus_is_busy(bus, SESSION));
}
