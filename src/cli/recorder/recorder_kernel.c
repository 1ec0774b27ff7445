/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorder/recorder_kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "cli/terminal/kernel_events.h"
#include "config/limits.h"
#include "config/source_merge.h"

/* Reading and writing all rings may take longer than the service waits by default. */
#define READ_TIMEOUT_MS 30000u
/* The ring of names takes a quarter of a CPU's ring. A process that starts and ends at once writes
 * 350 bytes there, and 1 KiB or more of events of the preset sched. */
#define NAMES_SHARE 4u
#define NAMES_MIN_KB 256u
#define RINGS_MAX_SHARE 4u /* all rings together get at most a quarter of the memory */
#define STATS_BYTES_MAX 4096u
#define NAME_SIZE 64 /* of kept_instance */

/* ---- the names of the instances ---- */

enum kernel_ring { RING_EVENTS, RING_NAMES };

/* Writes the name of kept_instance. */
static void recorder_kernel_name(const char *dir, enum kernel_ring ring, char ret[static NAME_SIZE])
{
	snprintf(ret, NAME_SIZE, "recorder-%012" PRIx64 "%s",
		 fnv1a(FNV1A_START, dir, strlen(dir)) >> 16, ring == RING_NAMES ? "-names" : "");
}

/* Writes the path of the instance. Returns 0, or -ENOENT if tracefs is not readable. */
static int recorder_kernel_format_path(const char *dir, enum kernel_ring ring,
				       char ret[static PATH_MAX])
{
	const char *root = tracefs_events_root(tracefs_roots);
	char name[NAME_SIZE];

	recorder_kernel_name(dir, ring, name);
	return !root || snprintf(ret, PATH_MAX, "%s/instances/sonda-kept-%s", root, name) >=
				       PATH_MAX
		       ? -ENOENT
		       : 0;
}

void recorder_kernel_remove(const char *dir)
{
	char path[PATH_MAX];

	for (enum kernel_ring i = RING_EVENTS; i <= RING_NAMES; i++)
		if (recorder_kernel_format_path(dir, i, path) == 0)
			rmdir(path);
}

/* ---- the config ---- */

/* Checks that the data source does nothing until a flush. */
static int check_source(const Pb__DataSourceConfig *source, struct err_text *e)
{
	const Pb__ProcessStatsConfig *p = source->process_stats_config;
	const char *name = source->name ? source->name : "";
	bool polls = p && p->proc_stats_poll_ms;

	if (!strcmp(name, "linux.ftrace") || !strcmp(name, "linux.system_info") ||
	    (!strcmp(name, "linux.process_stats") && !polls))
		return 0;
	return err_set(
		e, -EINVAL,
		"--in-kernel records only kernel events, but one of the words requires %s%.80s",
		polls ? "polls of " : "", name);
}

static void set_ring(Pb__FtraceConfig *c, uint64_t kb)
{
	c->has_buffer_size_kb = c->has_read_on_flush_only = c->read_on_flush_only = true;
	c->buffer_size_kb = (uint32_t)MIN(kb, (uint64_t)UINT32_MAX);
}

static int set_events_ring(const struct recorder_options *o, Pb__FtraceConfig *c, uint64_t kb)
{
	char name[NAME_SIZE];

	recorder_kernel_name(o->dir, RING_EVENTS, name);
	set_ring(c, kb);
	c->has_without_task_events = c->without_task_events = true;
	free(c->kept_instance);
	c->kept_instance = strdup(name);
	return c->kept_instance ? 0 : -ENOMEM;
}

static int add_names_ring(const struct recorder_options *o, Pb__TraceConfig *config, uint64_t kb)
{
	static const char *const events[] = {
		"sched/sched_process_exec", "sched/sched_process_exit", "sched/sched_process_fork",
		"sched/sched_process_free", "task/task_newtask",	"task/task_rename",
	};
	Pb__DataSourceConfig source = PB__DATA_SOURCE_CONFIG__INIT;
	Pb__FtraceConfig ftrace = PB__FTRACE_CONFIG__INIT;
	char name[NAME_SIZE];

	recorder_kernel_name(o->dir, RING_NAMES, name);
	set_ring(&ftrace, kb);
	ftrace.kept_instance = name;
	ftrace.ftrace_events = (char **)events;
	ftrace.n_ftrace_events = ARRAY_SIZE(events);
	source.name = (char *)"linux.ftrace";
	source.ftrace_config = &ftrace;
	return config_add_source(config, &source, 0);
}

/* Sets periods that never end within a session: nothing is written or flushed until a snapshot, but
 * readers expect a period. Each flush takes a snapshot of the clocks. */
static int set_endless_periods(Pb__TraceConfig *c)
{
	Pb__TraceConfig__BuiltinDataSource *builtin = c->builtin_data_sources;

	if (!builtin) {
		builtin = c->builtin_data_sources = malloc(sizeof(*builtin));
		if (!builtin)
			return -ENOMEM;
		pb__trace_config__builtin_data_source__init(builtin);
	}
	builtin->has_snapshot_interval_ms = true;
	builtin->snapshot_interval_ms = LIMIT_DURATION_MS;
	c->file_write_period_ms = c->flush_period_ms = LIMIT_DURATION_MS;
	c->has_write_flush_mode = true;
	c->write_flush_mode = PB__TRACE_CONFIG__WRITE_FLUSH_MODE__WRITE_FLUSH_DISABLED;
	c->rotate->has_period_ms = false;
	c->rotate->period_ms = 0;
	c->has_flush_timeout_ms = c->has_data_source_stop_timeout_ms = true;
	c->flush_timeout_ms = c->data_source_stop_timeout_ms = READ_TIMEOUT_MS;
	return 0;
}

static int check_memory(const struct recorder_options *o, struct err_text *e)
{
	uint64_t most = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) /
			RINGS_MAX_SHARE;
	char text[32];

	return o->kernel_bytes <= most ? 0
				       : err_set(e, -EINVAL,
						 "--size: the kernel's rings may use at most a "
						 "quarter of the memory, %s",
						 str_bytes(most, text));
}

int recorder_kernel_set_config(const struct recorder_options *o, Pb__TraceConfig *c,
			       struct err_text *e)
{
	uint64_t kb = o->kernel_bytes / 1024 / (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L);
	uint64_t names_kb = MAX(kb / NAMES_SHARE, (uint64_t)NAMES_MIN_KB);
	Pb__DataSourceConfig *events = config_find_ftrace(c);
	int r = check_memory(o, e);

	for (size_t i = 0; r == 0 && i < c->n_data_sources; i++)
		r = check_source(c->data_sources[i]->config, e);
	if (r == 0 && (!events || !events->ftrace_config))
		r = err_set(e, -EINVAL, "--in-kernel: none of the words is a kernel event");
	if (r == 0)
		r = set_events_ring(o, events->ftrace_config, kb - MIN(names_kb, kb / 2));
	if (r == 0)
		r = add_names_ring(o, c, names_kb);
	return r ? r : set_endless_periods(c);
}

/* ---- what the rings hold ---- */

/* Returns a number in the stats file of a ring: "overrun: 17", "bytes: 5204", "oldest event ts:
 * 3114.613493", ... */
static double read_stat_number(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? str_leading_double(at + strlen(key)) : 0;
}

struct kernel_rings_reading {
	const char *path; /* borrowed: of the instance */
	struct recorder_kernel_rings *ret; /* borrowed */
};

static int recorder_kernel_read_cpu(void *ctx, const char *name, unsigned char d_type)
{
	const struct kernel_rings_reading *r = ctx;
	struct strbuf text = {0};
	char path[PATH_MAX];
	double age_s;

	if (snprintf(path, sizeof(path), "%s/per_cpu/%s/stats", r->path, name) < PATH_MAX &&
	    fs_read_file(path, STATS_BYTES_MAX, &text) == 0 && text.s) {
		r->ret->bytes += (uint64_t)read_stat_number(text.s, "\nbytes:");
		age_s = read_stat_number(text.s, "\nnow ts:") -
			read_stat_number(text.s, "\noldest event ts:");
		if (read_stat_number(text.s, "\noverrun:") > 0 && age_s >= 0) {
			r->ret->covers_s = r->ret->wraps ? MIN(r->ret->covers_s, (uint64_t)age_s)
							 : (uint64_t)age_s;
			r->ret->wraps = true;
		}
	}
	strbuf_deinit(&text);
	return 0;
}

int recorder_kernel_read(const char *dir, struct recorder_kernel_rings *ret)
{
	struct recorder_kernel_rings rings = {0};
	struct kernel_rings_reading reading = {.ret = &rings};
	char path[PATH_MAX], cpus[PATH_MAX];
	int r = recorder_kernel_format_path(dir, RING_EVENTS, path);

	reading.path = path;
	if (r == 0)
		r = fs_join(cpus, sizeof(cpus), path, "per_cpu");
	if (r == 0)
		r = fs_each(cpus, recorder_kernel_read_cpu, &reading);
	if (r == 0)
		*ret = rings;
	return r;
}
