/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a linux.frozen_ftrace instance:
 *
 *	create   attach to the instance, compile every event of this kernel; in a coroutine
 *	start    when that is done:
 *	         FtraceStats (START: earlier records belong to the trace)
 *	         read all that is in its rings, in time slices
 *	         FtraceStats (END); close the rings                   done
 *	flush    answered when that is done
 *	stop     answered then, too
 *	destroy  detach; records that were already read are gone from the instance
 *
 * Nothing is enabled or disabled: the instance may be recording again for its owner.
 */
#include "base/text/number_read.h"
#include "ftrace/session/data_sources.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "ftrace/events/event_select.h"
#include "ftrace/events/ftrace_config.h"
#include "ftrace/options/event_enable.h"
#include "ftrace/ring/ring.h"
#include "ftrace/session/ftrace_stats.h"
#include "ftrace/session/session_instance.h"
#include "ftrace/tracefs/setting_file.h"

/* ---- which boot ---- */

/*
 * The kernel's description of the boot that a persistent instance's records are from
 * (last_boot_info). It contains load addresses, but not whether it was the same kernel with the
 * same event ids.
 *
 *	ffffffff81000000	[kernel]	since 6.15: what was loaded, and where
 *	ffffffffc0400000	virtio_blk
 *
 *	0	[kernel]			no records of another boot
 *	# Current				the records are from this boot
 *	text delta:	1000000			6.12 to 6.14: only the difference of the addresses
 */
enum last_boot {
	LAST_BOOT_UNKNOWN, /* not a persistent instance, or an unknown format */
	LAST_BOOT_NONE,
	LAST_BOOT_CURRENT,
	LAST_BOOT_THERE,
};

#define NAME_SIZE 64 /* MODULE_NAME_LEN is 56 */

/* Parses "ADDRESS\tNAME". Returns false for other lines. */
static bool boot_trace_source_parse_line(const char *line, uint64_t *address,
					 char name[static NAME_SIZE])
{
	return str_read_u64(&line, 16, address) != -EINVAL && *line == '\t' &&
	       sscanf(line, "\t%63[^ \t\n]", name) == 1;
}

/* Parses the text of last_boot_info. info NULL: the file does not exist. */
static enum last_boot parse_last_boot(const char *info)
{
	uint64_t address;
	char name[NAME_SIZE];

	if (!info)
		return LAST_BOOT_UNKNOWN;
	if (str_starts(info, "# Current"))
		return LAST_BOOT_CURRENT;
	if (boot_trace_source_parse_line(info, &address, name) && !strcmp(name, "[kernel]") &&
	    !address)
		return LAST_BOOT_NONE;
	return LAST_BOOT_THERE;
}

/* Returns true if a line of modules, "NAME SIZE USES ...", has the name. */
static bool module_is_loaded(const char *modules, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = modules; *at; at = *at ? at + 1 : at) {
		if (!strncmp(at, name, len) && at[len] == ' ')
			return true;
		at = strchrnul(at, '\n');
		if (!*at)
			break;
	}
	return false;
}

/* Appends the names, separated by commas, of modules that were loaded in that boot and are not
 * loaded now. modules: the text of /proc/modules. */
static void append_missing_modules(const char *info, const char *modules, struct strbuf *ret)
{
	uint64_t address;
	char name[NAME_SIZE];

	for (const char *at = info; *at; at += *at == '\n') {
		if (boot_trace_source_parse_line(at, &address, name) && *name != '[' &&
		    !module_is_loaded(modules, name))
			strbuf_printf(ret, "%s%s", ret->len ? ", " : "", name);
		at = strchrnul(at, '\n');
	}
}

/* ---- the instance ---- */

#define MAX_FLUSHES 64 /* unanswered flushes; the oldest are dropped */
#define PERIOD_MS 1000 /* the ticks find nothing, because all is read immediately */

struct boot_trace_source {
	struct ds_handle *handle;
	struct ds_env env;
	char *name; /* owned: of the instance */
	struct coroutine *setting_up; /* the setup; NULL when it has ended */
	bool start_waits; /* a start command arrived during the setup */
	struct writer *writer; /* owned */
	struct setup_errors errors;
	struct instance instance; /* not made if errors.fatal is set */
	struct event_table table;
	struct page_encoder *encoder; /* owned */
	struct ring_listener ring; /* with that encoder; open until all is read */
	bool started;
	bool done;
	bool stopping;
	uint64_t flushes[MAX_FLUSHES];
	unsigned n_flushes;
};

/* ---- opening ---- */

/* Returns the content of a file, which the caller frees, or NULL if it cannot be read. */
static char *boot_trace_source_read_file(const char *dir, const char *name)
{
	char path[4096];

	return fs_join(path, sizeof(path), dir, name) ? NULL : setting_read(path);
}

/* Reports if the kernel says that the records are not from the previous boot, or if modules of that
 * boot are not loaded now. */
static void report_boot_of_records(struct boot_trace_source *ds, const char *proc_root)
{
	_cleanup_(freep) char *info =
		boot_trace_source_read_file(ds->instance.path, "last_boot_info");
	_cleanup_(freep) char *modules = boot_trace_source_read_file(proc_root, "modules");
	struct strbuf gone = {0};

	switch (parse_last_boot(info)) {
	case LAST_BOOT_CURRENT:
		setup_error_add(&ds->errors, "option:instance_name (the instance holds only "
					     "records from the current boot)");
		return;
	case LAST_BOOT_NONE:
		setup_error_add(&ds->errors, "option:instance_name (the instance holds no records "
					     "from an earlier boot)");
		return;
	case LAST_BOOT_UNKNOWN:
		setup_error_add(&ds->errors,
				"option:instance_name (the instance does not survive reboots; boot "
				"the kernel with reserve_mem= and trace_instance=)");
		return;
	case LAST_BOOT_THERE:
		append_missing_modules(info, modules ? modules : "", &gone);
		if (gone.len)
			setup_error_add(
				&ds->errors,
				"option:instance_name (modules that were loaded in that boot are "
				"not loaded now, so records may be decoded as other events: %s)",
				gone.s);
		strbuf_deinit(&gone);
	}
}

/* Compiles all events of this kernel, because it is unknown which ones were enabled. */
static int compile_all_events(struct boot_trace_source *ds, const char *root)
{
	struct event_table_options options = {0};
	struct event_selection all = {0};
	struct setup_errors ignored = {0};
	const Pb__FtraceConfig none = PB__FTRACE_CONFIG__INIT;
	const struct setup setup = {
		.root = root,
		.config = &none,
		.instance = &ds->instance,
		.errors = &ignored,
	};
	int r = event_select(setup.root, (char *[]){(char *)"*/*"}, 1, &all, &ignored);

	if (!r)
		r = event_enable_compile(&all, &setup, &options, &ds->table);
	event_selection_deinit(&all);
	setup_errors_deinit(&ignored);
	return r;
}

/* Opens the rings of the instance, and compiles all events. Returns 0, or -errno, with a fatal
 * setup error that may be missing if memory ran out. */
static int open_instance(struct boot_trace_source *ds)
{
	const struct ds_env *env = &ds->env;
	struct err_text e = {0};
	int r;

	if (!env->tracefs_root) {
		setup_error_set_fatal(&ds->errors, "this process cannot use tracefs");
		return -ENOENT;
	}
	if (!ds_consumer_is_root(ds->handle)) {
		setup_error_set_fatal(
			&ds->errors,
			"nothing is recorded: only root may read the rings from another boot");
		return -EPERM;
	}
	r = session_instance_attach_named(&ds->instance, env->tracefs_root, env->state_root,
					  ds->name, &e);
	if (!r)
		r = instance_keep_ring(&ds->instance);
	if (!r)
		report_boot_of_records(ds, env->proc_root);
	if (!r)
		r = compile_all_events(ds, env->tracefs_root);
	if (!r)
		r = ring_open(&ds->ring, env->loop, env->sys_root, &ds->instance, &e);
	/* open_frozen_instance() reports an error without a text. */
	if (r && *e.text)
		setup_error_set_fatal(&ds->errors, "nothing is recorded: %s", e.text);
	return r;
}

static void leave_instance(struct boot_trace_source *ds)
{
	ring_close(&ds->ring);
	instance_remove(&ds->instance);
}

/* Opens the instance, its rings and a page encoder. If one of them fails, reports it; the session
 * then has no records. */
static void open_frozen_instance(struct boot_trace_source *ds)
{
	int r = open_instance(ds);

	if (!r) {
		ds->ring.period_ms = PERIOD_MS;
		r = page_encoder_new(&ds->table, ring_layout(ds->ring.ring), ds->writer,
				     &ds->encoder);
		ds->ring.encoder = ds->encoder;
	}
	if (!r)
		return;
	setup_error_set_fatal(&ds->errors, "nothing is recorded: %s", strerror(-r));
	leave_instance(ds);
}

/* ---- FtraceStats ---- */

static void boot_trace_source_write_stats(struct boot_trace_source *ds,
					  const struct ftrace_stats_packet *p)
{
	ftrace_stats_write(p, writer_begin(ds->writer));
	writer_end(ds->writer);
}

static void write_final_stats(struct boot_trace_source *ds)
{
	struct ftrace_stats_packet p = {.phase = FTRACE_STATS_END};
	struct ring_stats_all all = {0};
	struct setup_errors late = {0};

	if (ds->ring.ring) {
		ring_read_stats(&ds->ring, &all);
		p.all = &all;
		p.status_counts = ds->encoder->status_counts;
	}
	if (ds->encoder && ds->encoder->unknown) {
		setup_error_add(&late,
				"option:instance_name (%llu records of unknown events: they may be "
				"from another kernel, and the whole trace may be wrong)",
				(unsigned long long)ds->encoder->unknown);
		p.errors = &late;
	}
	boot_trace_source_write_stats(ds, &p);
	ring_stats_deinit(&all);
	setup_errors_deinit(&late);
}

/* ---- reading ---- */

static void boot_trace_source_answer_flushes(struct boot_trace_source *ds)
{
	unsigned n = ds->n_flushes;

	ds->n_flushes = 0;
	for (unsigned i = 0; i < n; i++)
		ds_flushed(ds->handle, ds->flushes[i]);
}

static void boot_trace_source_finish(struct boot_trace_source *ds)
{
	write_final_stats(ds);
	writer_flush(ds->writer);
	ring_close(&ds->ring);
	ds->done = true;
	boot_trace_source_answer_flushes(ds);
	if (ds->stopping)
		ds_stopped(ds->handle);
}

/* Sets the clock of the next records to the boot clock: nothing relates the previous boot's clock
 * to it. */
static void boot_trace_source_before_slice(struct ring_listener *l)
{
	l->encoder->sync = (struct clock_sync){.clock = FTRACE_CLOCK_BOOT};
}

static void boot_trace_source_after_slice(struct ring_listener *l)
{
}

static void on_all_read(struct ring_listener *l)
{
	boot_trace_source_finish(l->ctx);
}

static const struct ring_listener_ops ring_ops = {
	.before_slice = boot_trace_source_before_slice,
	.after_slice = boot_trace_source_after_slice,
	.all_read = on_all_read,
};

/* ---- commands of the producer ---- */

static void boot_trace_destroy(void *instance)
{
	struct boot_trace_source *ds = instance;

	coroutine_finish(ds->setting_up);
	ring_close(&ds->ring);
	if (ds->started && instance_is_made(&ds->instance))
		instance_clear(&ds->instance);
	leave_instance(ds);
	page_encoder_free(ds->encoder);
	event_table_deinit(&ds->table);
	setup_errors_deinit(&ds->errors);
	writer_free(ds->writer);
	free(ds->name);
	free(ds);
}

static void boot_trace_source_begin(struct boot_trace_source *ds)
{
	const struct ftrace_stats_extra more = {.preserved = true};

	ds->started = true;
	boot_trace_source_write_stats(ds, &(struct ftrace_stats_packet){.phase = FTRACE_STATS_START,
									.errors = &ds->errors,
									.more = &more});
	ds_started(ds->handle);
	if (!ds->ring.ring) {
		boot_trace_source_finish(ds);
		return;
	}
	ring_attach(&ds->ring);
	ring_read_all(&ds->ring);
}

static void boot_trace_source_set_up(void *ctx)
{
	open_frozen_instance(ctx);
}

static void on_set_up(void *ctx)
{
	struct boot_trace_source *ds = ctx;

	if (ds->errors.fatal)
		log_warn("linux.frozen_ftrace: %s", ds->errors.fatal);
	if (ds->start_waits)
		boot_trace_source_begin(ds);
}

static const struct coroutine_ops setting_up_ops = {.run = boot_trace_source_set_up,
						    .done = on_set_up};

static int boot_trace_create(struct ds_handle *h, const struct ds_env *env,
			     const Pb__DataSourceConfig *config, void **ret_instance)
{
	const Pb__FrozenFtraceConfig *c = config->frozen_ftrace_config;
	struct boot_trace_source *ds = calloc(1, sizeof(*ds));

	if (!ds)
		return -ENOMEM;
	ds->handle = h;
	ds->env = *env;
	ds->ring.ops = &ring_ops;
	ds->ring.ctx = ds;
	ds->writer = ds_writer_new(h);
	ds->name = strdup(c && c->instance_name ? c->instance_name : "");
	if (!ds->writer || !ds->name) {
		boot_trace_destroy(ds);
		return -ENOMEM;
	}
	coroutine_start(&ds->setting_up, env->loop, &setting_up_ops, ds);
	*ret_instance = ds;
	return 0;
}

static void boot_trace_start(void *instance)
{
	struct boot_trace_source *ds = instance;

	if (ds->setting_up)
		ds->start_waits = true;
	else
		boot_trace_source_begin(ds);
}

static void boot_trace_flush(void *instance, uint64_t flush_id)
{
	struct boot_trace_source *ds = instance;

	if (ds->n_flushes == MAX_FLUSHES)
		memmove(ds->flushes, ds->flushes + 1, --ds->n_flushes * sizeof(*ds->flushes));
	ds->flushes[ds->n_flushes++] = flush_id;
	if (ds->done)
		boot_trace_source_answer_flushes(ds);
}

static void boot_trace_stop(void *instance)
{
	struct boot_trace_source *ds = instance;

	if (ds->stopping)
		return;
	ds->stopping = true;
	if (ds->done)
		ds_stopped(ds->handle);
}

const struct data_source boot_trace_data_source = {
	.name = "linux.frozen_ftrace",
	.capabilities = 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_SYS_NICE,
	.create = boot_trace_create,
	.start = boot_trace_start,
	.flush = boot_trace_flush,
	.stop = boot_trace_stop,
	.destroy = boot_trace_destroy,
};
