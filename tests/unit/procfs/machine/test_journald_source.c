/* SPDX-License-Identifier: Apache-2.0 */
#include <event2/event.h>

#include "procfs/data_sources.h"
#include "unit/fixture.h"
#include "unit/procfs/fake_journal.h"
#include "unit/procfs/fake_producer.h"

static const struct data_source *const source = &systemd_journald_data_source;
static Pb__SystemdJournaldConfig journald;
static Pb__DataSourceConfig config;
static struct ds_env env;
static void *instance;

/* Replaces the function that opens libsystemd. */
int journald_library_open(struct journald_library *l, const char *file, struct strbuf *why)
{
	assert_string_equal(file, "libsystemd.so.0");
	if (journal.load_error) {
		strbuf_puts(why, "no such library");
		return journal.load_error;
	}
	*l = journal_library();
	return 0;
}

void journald_library_close(struct journald_library *l)
{
}

SETUP
{
	fake_reset();
	journal_reset();
	pb__systemd_journald_config__init(&journald);
	pb__data_source_config__init(&config);
	config.journald_config = &journald;
	env = (struct ds_env){.loop = event_base_new(), .proc_root = "/proc", .sys_root = "/sys"};
	assert_true(env.loop);
}

TEARDOWN
{
	if (instance)
		source->destroy(instance);
	instance = NULL;
	assert_false(fake.live);
	assert_int_equal(journal.opened, journal.closed);
	event_base_free(env.loop);
	fake_reset();
}

static void start(void)
{
	fake.started = fake.flushed = fake.stopped = 0;
	fake_reset_packets();
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	source->start(instance);
	assert_int_equal(fake.started, 1);
	assert_int_equal(fake.n, 0);
}

/* Runs the loop until the counter has the value. */
static void run_until(const unsigned *counter, unsigned n)
{
	for (unsigned i = 0; i < 100000 && *counter < n; i++)
		event_base_loop(env.loop, EVLOOP_NONBLOCK);
	assert_int_equal(*counter, n);
}

static void stop_source(void)
{
	source->stop(instance);
	run_until(&fake.stopped, 1);
	/* No event is left. */
	event_base_dispatch(env.loop);
}

static uint64_t now_us(void)
{
	return clock_mono_ns() / 1000;
}

static void add(const char *message)
{
	journal_add((struct journal_line){.us = now_us(), .fields = {message, "PRIORITY=6"}});
}

static struct pb_field event_of(size_t i)
{
	struct pb_field f = fake_packet_field(i), m;

	assert_true(fake_field(f.data, f.len, PB_TRACE_PACKET_JOURNALD_EVENT, 0, &m));
	return m;
}

static void assert_stats(size_t i, uint64_t total, uint64_t failed)
{
	assert_int_equal(fake_u64(event_of(i), PB_SYSTEMD_JOURNALD_EVENT_NUM_TOTAL), total);
	assert_int_equal(fake_u64(event_of(i), PB_SYSTEMD_JOURNALD_EVENT_NUM_FAILED), failed);
	/* The time is that of the clock of other packets. */
	assert_false(fake_has(fake_packet_field(i), PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID));
}

FIXTURE_TEST(entries_as_they_are_added)
{
	add("MESSAGE=old");
	start();
	add("MESSAGE=new");
	journal_poke();
	event_base_loop(env.loop, EVLOOP_ONCE);
	assert_int_equal(fake.n, 1);
	assert_true(fake_str_is(event_of(0), PB_SYSTEMD_JOURNALD_EVENT_MESSAGE, 0, "new"));
	assert_int_equal(fake_u64(fake_packet_field(0), PB_TRACE_PACKET_TIMESTAMP),
			 journal.lines[1].us * 1000);
	assert_int_equal(fake_u64(fake_packet_field(0), PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID), 3);
	/* A flush reads entries before their notification, and writes the totals. */
	add("MESSAGE=last");
	source->flush(instance, 9);
	run_until(&fake.flushed, 1);
	assert_int_equal(fake.last_flush_id, 9);
	assert_int_equal(fake.packets_at_flush, 3);
	assert_true(fake_str_is(event_of(1), PB_SYSTEMD_JOURNALD_EVENT_MESSAGE, 0, "last"));
	assert_stats(2, 2, 0);
	/* Unchanged totals are not written. */
	source->flush(instance, 10);
	run_until(&fake.flushed, 2);
	assert_int_equal(fake.n, 3);
	stop_source();
}

FIXTURE_TEST(a_stop_reads_entries_without_a_notification)
{
	start();
	add("MESSAGE=in another file");
	journal.hidden = 1;
	stop_source();
	assert_int_equal(fake.n, 2);
	assert_true(
		fake_str_is(event_of(0), PB_SYSTEMD_JOURNALD_EVENT_MESSAGE, 0, "in another file"));
	assert_stats(1, 1, 0);
}

FIXTURE_TEST(the_config_reaches_the_journal)
{
	char *ids[] = {"sshd"}, *units[] = {"ssh.service"};

	journald.has_min_prio = true;
	journald.min_prio = 1;
	journald.n_filter_identifiers = journald.n_filter_units = 1;
	journald.filter_identifiers = ids;
	journald.filter_units = units;
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	/* The config is borrowed during the call only. */
	ids[0] = units[0] = "gone";
	source->start(instance);
	assert_int_equal(journal.n_matches, 4);
	assert_string_equal(journal.matches[1], "PRIORITY=1");
	assert_string_equal(journal.matches[2], "SYSLOG_IDENTIFIER=sshd");
	assert_string_equal(journal.matches[3], "_SYSTEMD_UNIT=ssh.service");
	stop_source();
	source->destroy(instance);
	journald.n_filter_identifiers = journald.n_filter_units = 0;
	journald.min_prio = UINT32_MAX;
	start();
	assert_int_equal(journal.n_matches, 0);
	stop_source();
	source->destroy(instance);
	config.journald_config = NULL;
	start();
	assert_int_equal(journal.n_matches, 0);
	stop_source();
}

FIXTURE_TEST(an_entry_activates_its_triggers)
{
	Pb__SystemdJournaldConfig__Trigger late = PB__SYSTEMD_JOURNALD_CONFIG__TRIGGER__INIT,
					   bad = late, *triggers[] = {&bad, &late};

	late.name = (char *)"late";
	late.message = (char *)"too late";
	journald.triggers = triggers;
	journald.n_triggers = ARRAY_SIZE(triggers);
	add("MESSAGE=too late, before the start");
	start();
	add("MESSAGE=in time");
	add("MESSAGE=much too late");
	journal_poke();
	event_base_loop(env.loop, EVLOOP_ONCE);
	assert_int_equal(fake.n, 2);
	assert_int_equal(fake.triggers, 1);
	assert_string_equal(fake.trigger, "late");
	stop_source();
}

FIXTURE_TEST(a_flood)
{
	uint64_t begin = clock_mono_ns(), written = 0, dropped = 0, seconds;
	struct pb_field last;

	/* A slice writes fewer lines than the fake producer holds. */
	journal.line_ns = 3000;
	start();
	for (unsigned i = 0; i < 30000; i++)
		add("MESSAGE=flood");
	source->flush(instance, 1);
	/* It runs in slices; the packets of each are counted and dropped. */
	while (fake.flushed == 0) {
		event_base_loop(env.loop, EVLOOP_ONCE);
		assert_true(fake.n < FAKE_PACKETS);
		if (fake.flushed == 0) {
			written += fake.n;
			fake_reset_packets();
		}
	}
	assert_int_equal(fake.flushed, 1);
	last = event_of(fake.n - 1);
	written += fake.n - 1;
	if (fake_has(last, PB_SYSTEMD_JOURNALD_EVENT_NUM_DROPPED))
		dropped = fake_u64(last, PB_SYSTEMD_JOURNALD_EVENT_NUM_DROPPED);
	assert_int_equal(fake_u64(last, PB_SYSTEMD_JOURNALD_EVENT_NUM_TOTAL), 30000);
	assert_int_equal(written + dropped, 30000);
	/* A slow machine needs several seconds for them, each of which may have 10,000. */
	seconds = (clock_mono_ns() - begin) / NS_PER_S + 1;
	assert_true(written >= 10000 && written <= 10000 * seconds);
	stop_source();
}

FIXTURE_TEST(a_flush_does_not_wait_for_later_entries)
{
	start();
	for (unsigned i = 0; i < 100; i++)
		journal_add((struct journal_line){.us = now_us() + 3600000000});
	source->flush(instance, 1);
	run_until(&fake.flushed, 1);
	/* The other entries are written afterwards. */
	for (unsigned i = 0; i < 1000 && fake.n < 101; i++)
		event_base_loop(env.loop, EVLOOP_NONBLOCK);
	assert_int_equal(fake.n, 101);
	stop_source();
}

FIXTURE_TEST(entries_that_cannot_be_read)
{
	start();
	journal_add((struct journal_line){.us = now_us(), .time_error = -ESTALE});
	journal_add((struct journal_line){
		.us = now_us(), .data_error = -EBADMSG, .fields = {"MESSAGE=half"}});
	add("MESSAGE=good");
	source->flush(instance, 1);
	run_until(&fake.flushed, 1);
	assert_int_equal(fake.n, 3);
	assert_true(fake_str_is(event_of(0), PB_SYSTEMD_JOURNALD_EVENT_MESSAGE, 0, "half"));
	assert_stats(2, 3, 2);
	/* A journal that cannot be read now: no spin, and later it goes on. */
	journal.next_error = journal.process_error = -EIO;
	add("MESSAGE=later");
	source->flush(instance, 2);
	run_until(&fake.flushed, 2);
	assert_int_equal(fake.n, 3);
	journal.next_error = journal.process_error = 0;
	stop_source();
	assert_true(fake_str_is(event_of(3), PB_SYSTEMD_JOURNALD_EVENT_MESSAGE, 0, "later"));
}

FIXTURE_TEST(no_journal_yet)
{
	journal.exists = false;
	start();
	event_base_loop(env.loop, EVLOOP_NONBLOCK);
	assert_int_equal(fake.n, 0);
	journal.exists = true;
	add("MESSAGE=first");
	/* Without a notification it is looked for each second. */
	for (unsigned i = 0; i < 10 && fake.n == 0; i++)
		event_base_loop(env.loop, EVLOOP_ONCE);
	assert_int_equal(fake.n, 1);
	assert_true(fake_str_is(event_of(0), PB_SYSTEMD_JOURNALD_EVENT_MESSAGE, 0, "first"));
	stop_source();
}

FIXTURE_TEST(no_library)
{
	int errors[] = {-ENOENT, -ENOSYS};

	for (unsigned i = 0; i < 2; i++) {
		journal.load_error = errors[i];
		start();
		source->flush(instance, 1);
		run_until(&fake.flushed, 1);
		stop_source();
		assert_int_equal(fake.n, 0);
		source->destroy(instance);
		instance = NULL;
	}
	journal.load_error = 0;
	journal.open_error = -EACCES;
	start();
	stop_source();
	assert_int_equal(fake.n, 0);
}
