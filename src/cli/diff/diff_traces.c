/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/diff/diff_traces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/page/page.h"
#include "analyze/report/chosen.h"
#include "analyze/report/machines.h"
#include "analyze/report/passes.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "cli/report/config_sources.h"
#include "cli/report_table.h"
#include "cli/trace_tables.h"
#include "config/json.h"

/* With this many recordings on each side, the interval includes the difference from one recording
 * to the next. */
#define LEAST_REPETITIONS 3
/* Few long blocks rather than many short ones, because neighbouring blocks are not independent. */
#define BLOCKS 10
#define LEAST_BLOCK_NS INT64_C(100000000)
/* Assumed if the recording does not state how often a CPU is sampled. */
#define UNKNOWN_PERIOD_NS INT64_C(1000000)
/* Result of a recording that is not compared. */
#define LEFT_OUT 1

/* ---- what was recorded ---- */

/* Removes what differs from one recording to the next: numbers of processes and sessions, and where
 * the data goes. */
static void generalize_source(Pb__DataSourceConfig *c)
{
	c->has_target_buffer = c->has_tracing_session_id = c->has_trace_duration_ms = false;
	c->has_stop_timeout_ms = c->has_session_initiator = c->has_consumer_uid = false;
	c->target_buffer_name = NULL;
	if (c->ftrace_config)
		c->ftrace_config->n_tids_to_trace = c->ftrace_config->n_pids_to_trace = 0;
	if (c->perf_event_config && c->perf_event_config->callstack_sampling &&
	    c->perf_event_config->callstack_sampling->scope)
		c->perf_event_config->callstack_sampling->scope->n_target_pid = 0;
	if (c->waits_config)
		c->waits_config->n_pids = 0;
	if (c->syscalls_config)
		c->syscalls_config->n_pids = 0;
	if (c->ebpf_counters_config)
		c->ebpf_counters_config->n_pids = 0;
	if (c->subject_config)
		c->subject_config->n_spawner_pids = 0;
}

/* Returns true if the config limits kernel events to a command, not to processes (-p). */
static bool is_limited_to_command(const Pb__TraceConfig *config)
{
	bool some = false;

	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__FtraceConfig *f = config_source_ftrace(config->data_sources[i]);

		if (f && f->n_pids_to_trace)
			return false;
		some |= f && f->n_tids_to_trace;
	}
	return some;
}

static int64_t sampling_period(const Pb__TraceConfig *config)
{
	const Pb__PerfEventConfig *perf = config_source_perf(config);

	if (!perf || !perf->timebase ||
	    perf->timebase->interval_case != PB__PERF_EVENTS__TIMEBASE__INTERVAL_FREQUENCY ||
	    !perf->timebase->frequency)
		return UNKNOWN_PERIOD_NS;
	return MAX(INT64_C(1), INT64_C(1000000000) / (int64_t)MIN(perf->timebase->frequency,
								  UINT64_C(1000000000)));
}

static void read_config(const Pb__TraceConfig *c, struct diff_trace *t, int64_t *ret_period)
{
	*ret_period = UNKNOWN_PERIOD_NS;
	if (!c)
		return;
	t->is_run = is_limited_to_command(c);
	*ret_period = sampling_period(c);
	for (size_t i = 0; i < c->n_data_sources; i++) {
		Pb__DataSourceConfig *source = c->data_sources[i]->config, copy;

		if (!source)
			continue;
		copy = *source;
		generalize_source(&copy);
		json_print(&copy.base, &t->config);
		strbuf_putc(&t->config, '\n');
	}
}

/* ---- the window ---- */

/* Returns the number in the only row of a statement, or `missing` if it is NULL or fails. */
static int64_t query_number(sqlite3 *db, const char *sql, int64_t missing)
{
	sqlite3_stmt *st;
	int64_t ret = missing;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return missing;
	if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL)
		ret = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return ret;
}

/* Returns the time of the first (which: "min") or last ("max") event of this name of the chosen
 * threads, or `missing` if there is none. */
static int64_t query_event_time(sqlite3 *db, const char *which, const char *event, int64_t missing)
{
	char *sql = sqlite3_mprintf("SELECT %s(ts) FROM ftrace_event WHERE name = %Q AND utid IN "
				    "chosen",
				    which, event);
	int64_t ret = sql ? query_number(db, sql, missing) : missing;

	sqlite3_free(sql);
	return ret;
}

/* Limits the window to the recorded command: from its execve(2) to the exit of its last process.
 * Before the execve, the command waits for the recorder; after the exit, the recorder reads what is
 * left. The processes' end_ts is no substitute: it is the time of sched_process_free, which comes
 * later, and often from a thread that is not recorded. */
static void limit_window_to_command(sqlite3 *db, int64_t *from, int64_t *to)
{
	int64_t begin = query_event_time(db, "min", "sched_process_exec", *from);
	int64_t end = query_event_time(db, "max", "sched_process_exit", *to - 1);

	if (begin < end) {
		*from = MAX(*from, begin);
		*to = MIN(*to, end + 1);
	}
}

static int64_t add_saturated(int64_t ts, int64_t ns)
{
	int64_t ret;

	return __builtin_add_overflow(ts, ns, &ret) ? INT64_MAX : ret;
}

static int set_window(const struct diff_options *o, const struct trace_tables *tables, bool is_run,
		      struct diff_window *ret, struct err_text *e)
{
	const struct store *s = &tables->store;

	if (s->start_ts >= s->end_ts)
		return err_set(e, -ENODATA, "%s contains no timestamped events", tables->path);
	ret->from = s->start_ts;
	ret->to = add_saturated(s->end_ts, 1);
	if (is_run)
		limit_window_to_command(tables->db, &ret->from, &ret->to);
	if (o->to >= 0)
		ret->to = MIN(ret->to, add_saturated(ret->from, o->to));
	if (o->from >= 0)
		ret->from = add_saturated(ret->from, o->from);
	if (ret->from >= ret->to)
		return err_set(e, -EINVAL, "%s has no data between --from and --to", tables->path);
	return 0;
}

/* ---- one trace ---- */

static bool has_enough_repetitions(const struct diff_options *o)
{
	return MIN(o->n_files[0], o->n_files[1]) >= LEAST_REPETITIONS;
}

/* Returns 0; LEFT_OUT if the recording lost data and each side has several recordings; or -errno
 * and sets e. */
static int check_trace(struct diff_traces *all, const struct trace_tables *tables,
		       struct err_text *e)
{
	struct report_losses losses;
	bool lost;

	report_losses_find(tables, tables->path, &losses);
	lost = report_losses_any(&losses) || tables->result.undecodable;
	report_losses_deinit(&losses);
	if (lost && !all->o->lossy && has_enough_repetitions(all->o)) {
		strbuf_put_plain(&all->marks, tables->path);
		strbuf_puts(&all->marks,
			    " lost data and is left out (sonda info shows the losses)\n");
		return LEFT_OUT;
	}
	if (lost && !all->o->lossy)
		return err_set(e, -ENODATA,
			       "%s lost data, so the totals are too small (sonda info shows the "
			       "losses); record again, or compare with --lossy",
			       tables->path);
	if (tables->store.tables[TABLE_MACHINE].rows > 1)
		return err_set(e, -ENOTSUP, "%s covers several machines, which diff cannot compare",
			       tables->path);
	return 0;
}

static double count_slices(sqlite3 *db, const char *name)
{
	double n = 0;
	sqlite3_stmt *st;

	if (sqlite3_prepare_v2(db, "SELECT sum(n) FROM slices_by('name') WHERE name = ?", -1, &st,
			       NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_double(st, 0);
	sqlite3_finalize(st);
	return n;
}

/* Reads the rows of one observation. */
static int read_observation(struct diff_traces *all, struct trace_tables *tables,
			    const struct diff_window *w, struct diff_trace *trace, size_t at,
			    struct err_text *e)
{
	static const struct machine_scope scope = {.machine = MACHINES_ALL};
	struct diff_observation *ob = &all->observations[at];
	sqlite3 *db = tables->db;
	double work;

	/* Replaces the tables of the window before. */
	if (passes_register(db, &tables->store, w->from, w->to, &scope) != SQLITE_OK)
		return err_set(e, -EIO, "%s: %s", tables->path, sqlite3_errmsg(db));
	ob->side = trace->side;
	ob->seconds = (double)(w->to - w->from) / 1e9;
	ob->scale = all->per_run ? 1 : 1 / ob->seconds;
	if (all->o->per == DIFF_PER_SLICE) {
		work = count_slices(db, all->o->slice);
		if (work <= 0)
			return err_set(e, -ENODATA,
				       "--per: %s has no slice or system call named '%.80s' "
				       "(system call names begin with sys_)",
				       tables->path, all->o->slice);
		ob->scale = 1 / work;
		trace->work += work;
	}
	if (diff_rows_read(&all->rows, db, w, at) != SQLITE_OK)
		return err_set(e, -EIO, "%s: %s", tables->path, sqlite3_errmsg(db));
	all->n_of_side[trace->side]++;
	return 0;
}

/* Reads the whole window as one observation, or divides it into blocks. *first: index of the next
 * observation, which is advanced. Returns 0, or -errno and sets e. */
static int read_observations(struct diff_traces *all, struct trace_tables *tables,
			     struct diff_window w, struct diff_trace *trace, size_t *first,
			     struct err_text *e)
{
	int64_t from = w.from, length = w.to - w.from;
	int blocks = all->kind == DIFF_BLOCKS ? BLOCKS : 1, r = 0;

	if (blocks > 1 && length / blocks < LEAST_BLOCK_NS)
		return err_set(e, -ENODATA,
			       "%s is shorter than %.1f s, too short to split into blocks for a "
			       "confidence interval; record longer, or make at least %d recordings "
			       "of each side",
			       tables->path, (double)LEAST_BLOCK_NS * BLOCKS / 1e9,
			       LEAST_REPETITIONS);
	w.is_block = blocks > 1;
	for (int i = 0; i < blocks && r == 0; i++) {
		w.from = from + length / blocks * i;
		w.to = i == blocks - 1 ? from + length : w.from + length / blocks;
		r = read_observation(all, tables, &w, trace, (*first)++, e);
	}
	return r;
}

/* Chooses the unit and the design of the comparison by the first trace, or checks that a later
 * trace fits them. Returns 0, or -EINVAL and sets e. */
static int set_design(struct diff_traces *all, const struct diff_trace *t, struct err_text *e)
{
	const struct diff_options *o = all->o;

	if (t != all->of) {
		if (o->per == DIFF_PER_AUTO && t->is_run != all->of->is_run)
			return err_set(e, -EINVAL,
				       "%s is a recording of a command and %s is not; choose --per "
				       "run or --per second",
				       t->is_run ? t->path : all->of->path,
				       t->is_run ? all->of->path : t->path);
		return 0;
	}
	all->per_run = o->per == DIFF_PER_RUN || (o->per == DIFF_PER_AUTO && t->is_run);
	all->kind = has_enough_repetitions(o) ? DIFF_REPETITIONS
		    : all->per_run	      ? DIFF_UNTESTED
					      : DIFF_BLOCKS;
	return 0;
}

static void read_machine(struct trace_tables *tables, struct diff_trace *t)
{
	static const char sql[] = "SELECT release, arch, num_cpus FROM machine LIMIT 1";
	sqlite3_stmt *st;

	if (sqlite3_prepare_v2(tables->db, sql, -1, &st, NULL) != SQLITE_OK)
		return;
	if (sqlite3_step(st) == SQLITE_ROW) {
		const char *release = (const char *)sqlite3_column_text(st, 0);
		const char *arch = (const char *)sqlite3_column_text(st, 1);

		strbuf_printf(&t->kernel, "%s %s", release ? release : "unknown", arch ? arch : "");
		t->cpus = (unsigned)sqlite3_column_int64(st, 2);
	}
	sqlite3_finalize(st);
}

/* Adds the stacks of the whole window. */
static int read_stacks(struct diff_traces *all, const struct trace_tables *tables,
		       const struct diff_window *w, const struct diff_trace *t, struct err_text *e)
{
	const struct diff_stacks_trace from = {.db = tables->db,
					       .store = &tables->store,
					       .from = w->from,
					       .to = w->to,
					       .period_ns = w->period_ns};
	double scale = all->per_run ? 1 : 1 / t->seconds;

	if (all->o->per == DIFF_PER_SLICE)
		scale = 1 / t->work;
	if (diff_stacks_add(&all->stacks, &from, t->side, scale) < 0)
		return err_set(e, -ENOMEM, "%s", strerror(ENOMEM));
	return 0;
}

/* Writes the timeline of the window as a page into a temporary file. */
static int write_timeline(struct diff_traces *all, struct trace_tables *tables,
			  const struct diff_window *w, const struct diff_trace *t,
			  struct err_text *e)
{
	const char *slash = strrchr(t->path, '/');
	const struct page_options page = {.title = slash ? slash + 1 : t->path,
					  .from = w->from,
					  .to = w->to,
					  .max_rows = PAGE_MAX_ROWS / 2};
	FILE *to = tmpfile();
	struct page_result result;
	int r = to ? page_write(&tables->store, &page, to, &result) : -errno;

	all->timelines[t->side] = to;
	if (r < 0)
		return err_set(e, r, "cannot write the timeline of %s: %s", t->path, strerror(-r));
	if (result.left_out)
		strbuf_printf(&all->marks,
			      "the timeline of %s ends after %.3f s, because it has too many rows "
			      "for a page; choose a window with --from and --to\n",
			      page.title, (double)(result.to - w->from) / 1e9);
	return 0;
}

static int read_tables(struct diff_traces *all, struct trace_tables *tables, struct diff_trace *t,
		       size_t *first, struct err_text *e)
{
	struct chosen_from from = {
		.words = all->o->words, .n_words = all->o->n_words, .store = &tables->store};
	struct diff_window w = {.from = 0};
	const char *missing;
	int r = check_trace(all, tables, e);

	if (r)
		return r;
	read_config(tables->config, t, &w.period_ns);
	read_machine(tables, t);
	if (chosen_create(tables->db, &from, &missing) != SQLITE_OK)
		return err_set(e, -EIO, "%s: %s", t->path, sqlite3_errmsg(tables->db));
	if (missing)
		return err_set(e, -ENOENT, "%s has no process or thread '%.80s'", t->path, missing);
	r = set_design(all, t, e);
	if (r == 0)
		r = set_window(all->o, tables, t->is_run, &w, e);
	if (r < 0)
		return r;
	t->start_ts = w.from;
	t->seconds = (double)(w.to - w.from) / 1e9;
	w.is_run = all->per_run;
	r = read_observations(all, tables, w, t, first, e);
	if (r == 0 && all->o->html)
		r = read_stacks(all, tables, &w, t, e);
	if (r == 0 && all->o->timelines && !all->timelines[t->side])
		r = write_timeline(all, tables, &w, t, e);
	return r;
}

static int read_trace(struct diff_traces *all, struct diff_trace *t, size_t *first,
		      struct err_text *e)
{
	struct trace_tables tables;
	int r = trace_tables_open(t->path, all->o->memory, &tables, e);

	if (r < 0)
		return r;
	trace_tables_warn(&tables);
	r = read_tables(all, &tables, t, first, e);
	trace_tables_close(&tables);
	return r;
}

/* ---- pairs ---- */

static int compare_starts(const void *a, const void *b)
{
	const struct diff_trace *x = *(struct diff_trace *const *)a;
	const struct diff_trace *y = *(struct diff_trace *const *)b;

	return (x->start_ts > y->start_ts) - (x->start_ts < y->start_ts);
}

/* Sorts the recordings by their start. Those that were made alternately, one of each side at a
 * time, are compared in pairs: slow changes of the machine affect both of a pair alike. Moves the
 * pairs to the beginning of sorted, and returns their number. A recording without a partner, which
 * may have been left out, is skipped. */
static size_t pair_neighbours(struct diff_trace **sorted, size_t n)
{
	size_t pairs = 0;

	qsort(sorted, n, sizeof(*sorted), compare_starts);
	for (size_t i = 0; i + 1 < n; i++) {
		if (sorted[i]->side == sorted[i + 1]->side)
			continue;
		sorted[2 * pairs] = sorted[i];
		sorted[2 * pairs++ + 1] = sorted[++i];
	}
	return pairs;
}

/* Moves the values of each row to their new places and drops the rest. old[i]: where observation i
 * was; n: how many remain; spare: room for all values of a row. */
static void reorder_observations(struct diff_rows *rows, const size_t *old, size_t n,
				 struct diff_value *spare)
{
	for (struct diff_row *row = rows->list; row; row = row->hh.next) {
		memcpy(spare, row->of, rows->observations * sizeof(*spare));
		for (size_t i = 0; i < n; i++)
			row->of[i] = spare[old[i]];
	}
	rows->observations = n;
}

/* Switches to DIFF_PAIRS if at most a quarter of the recordings have no partner. Returns 0 or
 * -ENOMEM. */
static int find_pairs(struct diff_traces *all)
{
	size_t n = all->n, pairs;
	_cleanup_(freep) struct diff_trace **sorted = calloc(n, sizeof(*sorted));
	_cleanup_(freep) struct diff_value *spare = calloc(n, sizeof(*spare));
	_cleanup_(freep) struct diff_observation *before = calloc(n, sizeof(*before));
	_cleanup_(freep) size_t *old = calloc(n, sizeof(*old));

	if (all->kind != DIFF_REPETITIONS)
		return 0;
	if (!sorted || !spare || !before || !old)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = &all->of[i];
	pairs = pair_neighbours(sorted, n);
	if (pairs < LEAST_REPETITIONS || 2 * pairs * 4 < n * 3)
		return 0;
	for (size_t i = 0; i < 2 * pairs; i++)
		old[i / 2 + (sorted[i]->side ? pairs : 0)] = (size_t)(sorted[i] - all->of);
	memcpy(before, all->observations, n * sizeof(*before));
	for (size_t i = 0; i < 2 * pairs; i++)
		all->observations[i] = before[old[i]];
	reorder_observations(&all->rows, old, 2 * pairs, spare);
	all->n_of_side[0] = all->n_of_side[1] = pairs;
	all->kind = DIFF_PAIRS;
	return 0;
}

/* ---- what cannot be compared ---- */

static const char *line_end(const char *line)
{
	return strchrnul(line, '\n');
}

static bool has_line(const struct strbuf *config, const char *line, size_t len)
{
	for (const char *at = config->s; at && *at; at = line_end(at) + 1)
		if ((size_t)(line_end(at) - at) == len && !memcmp(at, line, len))
			return true;
	return false;
}

/* Appends the names of the data sources of one config that the other does not have in the same
 * form. Returns true if there are any. */
static bool put_differing_sources(const struct strbuf *one, const struct strbuf *other,
				  struct strbuf *names)
{
	bool some = false;

	for (const char *at = one->s; at && *at; at = line_end(at) + 1) {
		const char *name = strstr(at, "\"name\":\"");

		if (has_line(other, at, (size_t)(line_end(at) - at)))
			continue;
		some = true;
		if (name && name < line_end(at)) {
			name += strlen("\"name\":\"");
			strbuf_puts(names, names->len ? ", " : "");
			strbuf_add(names, name, strcspn(name, "\"\n"));
		}
	}
	return some;
}

static void mark_different_configs(struct diff_traces *all)
{
	all->same_config = true;
	for (size_t i = 1; i < all->n && all->same_config; i++) {
		struct strbuf names = {0}, others = {0};
		bool differs =
			put_differing_sources(&all->of[0].config, &all->of[i].config, &names);

		if (!put_differing_sources(&all->of[i].config, &all->of[0].config, &others) &&
		    !differs)
			continue;
		all->same_config = false;
		strbuf_printf(&all->marks,
			      "the configs differ (%s): data that only one side recorded is not "
			      "compared, and the overhead of recording may differ\n",
			      others.len ? others.s
			      : names.s	 ? names.s
					 : "data sources");
		strbuf_deinit(&names);
		strbuf_deinit(&others);
	}
}

static void mark_different_machines(struct diff_traces *all)
{
	const struct diff_trace *a = &all->of[0], *b = &all->of[all->n_traces[0]];

	if (a->cpus && b->cpus && a->cpus != b->cpus)
		strbuf_printf(&all->marks, "different numbers of CPUs: %u in A, %u in B\n", a->cpus,
			      b->cpus);
	if (a->kernel.s && b->kernel.s && strcmp(a->kernel.s, b->kernel.s) != 0)
		strbuf_printf(&all->marks, "different kernels: %s in A, %s in B\n", a->kernel.s,
			      b->kernel.s);
	if (all->o->lossy)
		strbuf_puts(&all->marks, "recordings that lost data are included (--lossy)\n");
}

static void mark_weak_design(struct diff_traces *all)
{
	if (all->kind == DIFF_UNTESTED)
		strbuf_printf(&all->marks,
			      "too few recordings to tell a change from chance: make at least %d "
			      "per side\n",
			      LEAST_REPETITIONS);
	else if (all->kind == DIFF_BLOCKS)
		strbuf_printf(&all->marks,
			      "the intervals come from blocks of time, so they do not include the "
			      "variation between recordings; make at least %d per side\n",
			      LEAST_REPETITIONS);
	else if (all->kind == DIFF_REPETITIONS)
		strbuf_puts(&all->marks,
			    "A and B were not recorded alternately: a change in the machine "
			    "between them looks like a change in the program\n");
}

/* ---- all ---- */

/* Reads the files of both sides. Those that are left out have no place in all->of. */
static int read_all_traces(struct diff_traces *all, struct err_text *e)
{
	size_t observation = 0;

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < all->o->n_files[side]; i++) {
			struct diff_trace *t = &all->of[all->n];
			int r;

			*t = (struct diff_trace){.path = all->o->files[side][i], .side = side};
			r = read_trace(all, t, &observation, e);
			if (r < 0)
				return r;
			all->n += r != LEFT_OUT;
			all->n_traces[side] += r != LEFT_OUT;
		}
	all->rows.observations = observation;
	if (has_enough_repetitions(all->o) &&
	    MIN(all->n_traces[0], all->n_traces[1]) < LEAST_REPETITIONS)
		return err_set(e, -ENODATA,
			       "fewer than %d recordings of %s are complete; record again, or "
			       "compare with --lossy",
			       LEAST_REPETITIONS, all->n_traces[0] < LEAST_REPETITIONS ? "A" : "B");
	return 0;
}

int diff_traces_read(const struct diff_options *o, struct diff_traces *ret, struct err_text *e)
{
	size_t n = o->n_files[0] + o->n_files[1];
	int r;

	*ret = (struct diff_traces){.o = o};
	/* Allocates one more, for the recording that is left out last. */
	ret->of = calloc(n + 1, sizeof(*ret->of));
	ret->rows.observations = has_enough_repetitions(o) ? n : n * BLOCKS;
	ret->observations = calloc(ret->rows.observations, sizeof(*ret->observations));
	if (!ret->of || !ret->observations)
		return err_set(e, -ENOMEM, "%s", strerror(ENOMEM));
	r = read_all_traces(ret, e);
	if (r < 0)
		return r;
	if (find_pairs(ret) < 0)
		return err_set(e, -ENOMEM, "%s", strerror(ENOMEM));
	mark_weak_design(ret);
	mark_different_machines(ret);
	mark_different_configs(ret);
	return 0;
}

void diff_traces_deinit(struct diff_traces *t)
{
	diff_rows_deinit(&t->rows);
	diff_stacks_deinit(&t->stacks);
	/* Includes the element after the last one, which a failed or skipped recording may have
	 * filled in part. */
	for (size_t i = 0; t->of && i <= t->n; i++) {
		strbuf_deinit(&t->of[i].kernel);
		strbuf_deinit(&t->of[i].config);
	}
	for (int side = 0; side < 2; side++)
		if (t->timelines[side])
			fclose(t->timelines[side]);
	free(t->of);
	free(t->observations);
	strbuf_deinit(&t->marks);
}
