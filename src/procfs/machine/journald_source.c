/* SPDX-License-Identifier: Apache-2.0 */
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "procfs/data_sources.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/time_slice.h"
#include "base/system/log.h"
#include "common/builtin_clock.pb-c.h"
#include "gen/fields.h"
#include "procfs/machine/journald_reader.h"
#include "procfs/machine/journald_triggers.h"

/*
 * The descriptor of the journal becomes readable when entries were added. They are read in time
 * slices until none is left. A flush or a stop is answered when all entries from before it are
 * written. Above the rate limit entries are skipped, which is cheap, and counted.
 */

/* Limit of entries recorded in a second. */
#define LINES_PER_S 10000
/* The journal is also checked with this period, in case its descriptor does not report a change, or
 * there is no journal yet. */
#define LOOK_MS 1000

struct journald_source {
	struct ds_handle *h; /* borrowed, as is the loop */
	struct event_base *loop;
	struct writer *writer; /* owned */
	struct event *watch; /* owned; watches the descriptor of the journal */
	struct event *look; /* owned */
	struct event *next_slice; /* owned */
	struct journald_library lib;
	struct journald_reader reader;
	Pb__SystemdJournaldConfig *config; /* owned; NULL: none */
	struct journald_triggers *triggers; /* owned; NULL: none */
	uint64_t second_ends_ns;
	uint32_t this_second; /* entries recorded in this second */
	uint64_t total; /* entries that were read; of these: */
	uint64_t failed;
	uint64_t dropped;
	uint64_t written_total; /* value of total in the last statistics packet */
	struct log_limit errors;
	bool drop_logged;
	bool stats_written;
	bool stopping;
	uint64_t last_us; /* CLOCK_MONOTONIC of the last entry */
	uint64_t end_us; /* CLOCK_MONOTONIC of the last flush or stop: it waits for older entries */
	struct flushes flushes;
};

/* ---- entries ---- */

/* Counts a line. Returns false above the limit of lines in this second. */
static bool try_to_admit_line(struct journald_source *ds)
{
	uint64_t now = clock_mono_ns();

	if (now >= ds->second_ends_ns) {
		ds->second_ends_ns = now + NS_PER_S;
		ds->this_second = 0;
	}
	return ds->this_second++ < LINES_PER_S;
}

static void journald_source_on_field(void *ctx, const void *data, size_t len)
{
	journald_triggers_add_field(ctx, data, len);
}

/* Activates the triggers that the entry fires. */
static void activate_fired_triggers(struct journald_source *ds)
{
	const char *const *names;
	size_t n = journald_triggers_end_entry(ds->triggers, clock_mono_ns(), &names);

	for (size_t i = 0; i < n; i++)
		log_info("linux.systemd_journald: an entry activated the trigger '%s'", names[i]);
	if (n)
		ds_activate_triggers(ds->h, names, n);
}

static void write_line(struct journald_source *ds, uint64_t time_us)
{
	struct pb_enc *e = writer_begin(ds->writer);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, time_us * 1000);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID,
		   PB__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC);
	pb_enc_open(e, PB_TRACE_PACKET_JOURNALD_EVENT);
	if (journald_reader_encode(&ds->reader, e, ds->triggers ? journald_source_on_field : NULL,
				   ds->triggers) < 0)
		ds->failed++;
	pb_enc_close(e);
	writer_end(ds->writer);
	if (ds->triggers)
		activate_fired_triggers(ds);
}

static void journald_source_write_or_drop(struct journald_source *ds, uint64_t time_us)
{
	if (try_to_admit_line(ds)) {
		write_line(ds, time_us);
		return;
	}
	ds->dropped++;
	if (!ds->drop_logged)
		log_warn("linux.systemd_journald: more than %d entries a second; the excess is "
			 "dropped",
			 LINES_PER_S);
	ds->drop_logged = true;
}

/* Handles one entry. Returns false if there is none now. */
static bool read_next_line(struct journald_source *ds)
{
	uint64_t us = 0;
	int r = journald_reader_next(&ds->reader, &us);

	if (r < 0)
		log_write_limited(&ds->errors, LOG_LEVEL_WARN, "linux.systemd_journald: %s",
				  strerror(-r));
	if (r <= JOURNALD_END)
		return false;
	if (r == JOURNALD_OLD)
		return true;
	ds->total++;
	if (r == JOURNALD_BAD) {
		ds->failed++;
		return true;
	}
	journald_source_write_or_drop(ds, us);
	ds->last_us = us;
	return true;
}

/* ---- flush and stop ---- */

static void write_stats(struct journald_source *ds)
{
	struct pb_enc *e;

	if (ds->stats_written && ds->total == ds->written_total)
		return;
	ds->stats_written = true;
	ds->written_total = ds->total;
	e = writer_begin(ds->writer);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_open(e, PB_TRACE_PACKET_JOURNALD_EVENT);
	pb_enc_u64(e, PB_SYSTEMD_JOURNALD_EVENT_NUM_TOTAL, ds->total);
	pb_enc_u64(e, PB_SYSTEMD_JOURNALD_EVENT_NUM_FAILED, ds->failed);
	if (ds->dropped)
		pb_enc_u64(e, PB_SYSTEMD_JOURNALD_EVENT_NUM_DROPPED, ds->dropped);
	pb_enc_close(e);
	writer_end(ds->writer);
}

static void journald_source_answer_flushes(struct journald_source *ds)
{
	if (ds->reader.journal)
		write_stats(ds);
	writer_flush(ds->writer);
	flushes_answer(&ds->flushes, ds->h);
}

static void stop_watching(struct journald_source *ds)
{
	event_freep(&ds->watch);
	event_del(ds->look);
	event_del(ds->next_slice);
}

static void answer_stop(struct journald_source *ds)
{
	if (ds->failed || ds->dropped)
		log_warn("linux.systemd_journald: of %llu entries, %llu were unreadable and %llu "
			 "exceeded the rate limit",
			 (unsigned long long)ds->total, (unsigned long long)ds->failed,
			 (unsigned long long)ds->dropped);
	stop_watching(ds);
	ds->stopping = false;
	ds_stopped(ds->h);
}

/* ---- time slices ---- */

static void journald_source_run_slice(struct journald_source *ds)
{
	struct time_slice slice = time_slice_start(clock_mono_ns);
	bool more;

	do
		more = read_next_line(ds);
	while (more && !time_slice_over(&slice));
	if (more)
		event_timer_soon(ds->next_slice);
	if (more && ds->last_us <= ds->end_us)
		return;
	if (ds->flushes.n || ds->stopping)
		journald_source_answer_flushes(ds);
	if (ds->stopping)
		answer_stop(ds);
}

static void journald_source_on_slice(evutil_socket_t fd, short what, void *ctx)
{
	journald_source_run_slice(ctx);
}

static void on_journal_readable(evutil_socket_t fd, short what, void *ctx);

static void watch_journal(struct journald_source *ds)
{
	int fd = journald_reader_fd(&ds->reader);

	event_freep(&ds->watch);
	if (fd < 0)
		return;
	/* Without the watch the journal is still checked periodically. */
	ds->watch = event_new(ds->loop, fd, EV_READ | EV_PERSIST, on_journal_readable, ds);
	if (ds->watch)
		event_add(ds->watch, NULL);
}

/* Checks the files of the journal; watches its descriptor if it was opened again. */
static void refresh_reader(struct journald_source *ds)
{
	int r = journald_reader_refresh(&ds->reader);

	if (r < 0)
		log_write_limited(&ds->errors, LOG_LEVEL_WARN, "linux.systemd_journald: %s",
				  strerror(-r));
	if (r == 1 || !ds->reader.journal)
		watch_journal(ds);
}

static void refresh_and_read(struct journald_source *ds)
{
	refresh_reader(ds);
	if (!evtimer_pending(ds->next_slice, NULL))
		journald_source_run_slice(ds);
}

static void on_journal_readable(evutil_socket_t fd, short what, void *ctx)
{
	refresh_and_read(ctx);
}

static void on_refresh_timer(evutil_socket_t fd, short what, void *ctx)
{
	struct journald_source *ds = ctx;

	event_timer_ms(ds->look, LOOK_MS);
	refresh_and_read(ds);
}

/* ---- the data source ---- */

static void journald_destroy(void *instance)
{
	struct journald_source *ds = instance;

	if (!ds)
		return;
	if (ds->look && ds->next_slice)
		stop_watching(ds);
	event_freep(&ds->look);
	event_freep(&ds->next_slice);
	journald_reader_close(&ds->reader);
	journald_library_close(&ds->lib);
	journald_triggers_free(ds->triggers);
	if (ds->config)
		pb__systemd_journald_config__free_unpacked(ds->config, NULL);
	writer_free(ds->writer);
	free(ds);
}

DEFINE_DESTRUCTOR(struct journald_source *, journald_destroy)

/* Copies the config for the life of the instance. Returns 0 or -ENOMEM. */
static int copy_config(struct journald_source *ds, const Pb__SystemdJournaldConfig *c)
{
	size_t len = c ? pb__systemd_journald_config__get_packed_size(c) : 0;
	_cleanup_(freep) uint8_t *bytes = malloc(len + 1);

	if (!c)
		return 0;
	if (!bytes)
		return -ENOMEM;
	pb__systemd_journald_config__pack(c, bytes);
	ds->config = pb__systemd_journald_config__unpack(NULL, len, bytes);
	return ds->config ? 0 : -ENOMEM;
}

static int journald_create_triggers(struct journald_source *ds)
{
	_cleanup_(strbuf_deinit) struct strbuf errors = {0};
	int r;

	if (!ds->config || !ds->config->n_triggers)
		return 0;
	r = journald_triggers_new(ds->config, &errors, &ds->triggers);
	if (errors.s)
		log_warn("linux.systemd_journald: %s", errors.s);
	return r;
}

static int journald_create(struct ds_handle *h, const struct ds_env *env,
			   const Pb__DataSourceConfig *config, void **ret_instance)
{
	_cleanup_(journald_destroyp) struct journald_source *ds = calloc(1, sizeof(*ds));
	int r;

	if (!ds)
		return -ENOMEM;
	ds->h = h;
	ds->loop = env->loop;
	r = copy_config(ds, config->journald_config);
	if (r == 0)
		r = journald_create_triggers(ds);
	if (r < 0)
		return r;
	ds->look = evtimer_new(env->loop, on_refresh_timer, ds);
	ds->next_slice = evtimer_new(env->loop, journald_source_on_slice, ds);
	ds->writer = ds_writer_new(h);
	if (!ds->look || !ds->next_slice || !ds->writer)
		return -ENOMEM;
	*ret_instance = TAKE_PTR(ds);
	return 0;
}

static struct journald_filter make_filter(const Pb__SystemdJournaldConfig *c)
{
	if (!c)
		return (struct journald_filter){.max_priority = -1};
	return (struct journald_filter){
		.max_priority = c->has_min_prio && c->min_prio < 8 ? (int)c->min_prio : -1,
		.identifiers = c->filter_identifiers,
		.n_identifiers = c->n_filter_identifiers,
		.units = c->filter_units,
		.n_units = c->n_filter_units,
	};
}

static void journald_source_open(struct journald_source *ds)
{
	_cleanup_(strbuf_deinit) struct strbuf why = {0};
	struct journald_filter filter = make_filter(ds->config);
	int r = journald_library_open(&ds->lib, JOURNALD_LIBRARY, &why);

	if (r < 0) {
		log_warn("linux.systemd_journald records nothing: %s%s",
			 r == -ENOSYS ? "libsystemd is too old: it lacks " : "", why.s);
		return;
	}
	r = journald_reader_open(&ds->reader, &ds->lib, &filter, clock_mono_ns() / 1000);
	if (r < 0) {
		log_warn("linux.systemd_journald records nothing: %s", strerror(-r));
		return;
	}
	if (!ds->reader.has_files)
		log_warn("linux.systemd_journald: no readable journal found; waiting for one");
	watch_journal(ds);
	on_refresh_timer(-1, 0, ds);
}

static void journald_start(void *instance)
{
	struct journald_source *ds = instance;

	journald_source_open(ds);
	ds_started(ds->h);
}

/* Makes the next time slice write all current entries and then acknowledge the stop. */
static void end_after_current_entries(struct journald_source *ds)
{
	ds->end_us = clock_mono_ns() / 1000;
	if (ds->reader.journal)
		refresh_reader(ds);
	event_timer_soon(ds->next_slice);
}

static void journald_flush(void *instance, uint64_t flush_id)
{
	struct journald_source *ds = instance;

	if (!flushes_add(&ds->flushes, flush_id)) {
		journald_source_answer_flushes(ds);
		(void)flushes_add(&ds->flushes, flush_id);
	}
	end_after_current_entries(ds);
}

static void journald_stop(void *instance)
{
	struct journald_source *ds = instance;

	if (ds->stopping)
		return;
	ds->stopping = true;
	end_after_current_entries(ds);
}

const struct data_source systemd_journald_data_source = {
	.name = "linux.systemd_journald",
	.capabilities = 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SYS_NICE,
	.create = journald_create,
	.start = journald_start,
	.flush = journald_flush,
	.stop = journald_stop,
	.destroy = journald_destroy,
};
