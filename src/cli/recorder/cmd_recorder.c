/* SPDX-License-Identifier: Apache-2.0 */
/* sonda recorder: the verb. recorder_run.c records; recorder_snapshot.c saves the last minutes. */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/system/memory_limit.h"
#include "base/text/str.h"
#include "cli/recorder/recorder_crash.h"
#include "cli/recorder/recorder_dir.h"
#include "cli/recorder/recorder_kernel.h"
#include "cli/recorder/recorder_options.h"
#include "cli/recorder/recorder_run.h"
#include "cli/recorder/recorder_state.h"
#include "cli/recorder/recorder_unit.h"
#include "cli/terminal/help.h"
#include "cli/terminal/presets.h"
#include "cli/terminal/verb.h"

/* ---- status ---- */

struct recorder_status {
	const char *dir; /* borrowed */
	bool runs;
	struct recorder_state state;
	struct recorder_parts parts; /* owned */
	bool has_rings; /* the kernel's rings could be read: */
	struct recorder_kernel_rings rings;
	int64_t now_ns;
};

static int recorder_status_read(const char *dir, struct recorder_status *ret, struct err_text *e)
{
	int r;

	*ret = (struct recorder_status){.dir = dir, .now_ns = (int64_t)clock_ns(CLOCK_REALTIME)};
	ret->runs = recorder_dir_is_locked(dir);
	r = recorder_state_read(dir, &ret->state);
	if (r == -ENOENT)
		return err_set(
			e, r,
			"no recorder has used %.300s yet; start one with sonda recorder enable",
			dir);
	if (r == 0)
		r = recorder_parts_read(dir, &ret->parts);
	if (r < 0)
		return err_set(e, r, "cannot read the directory %.300s: %s", dir, strerror(-r));
	ret->has_rings = ret->state.kernel_bytes && recorder_kernel_read(dir, &ret->rings) == 0;
	if (!ret->runs && strcmp(ret->state.what, "ended") != 0)
		recorder_state_explain_death(&ret->state);
	return 0;
}

static const char *status_word(const struct recorder_status *s)
{
	return s->runs ? s->state.what : "not running";
}

/* Returns the age of the ring, counted from the end of its oldest part, so the ring covers at least
 * this time. */
static uint64_t status_age_s(const struct recorder_status *s)
{
	int64_t ns = s->parts.n ? s->now_ns - s->parts.of[0].end_ns : 0;

	return ns > 0 ? (uint64_t)ns / NS_PER_S : 0;
}

static void put_time(struct strbuf *b, uint64_t s)
{
	time_t t = (time_t)s;
	struct tm tm;
	char text[64] = "";

	if (localtime_r(&t, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	strbuf_puts(b, text);
}

static void put_seconds(struct strbuf *b, uint64_t s)
{
	strbuf_printf(b, s < 120 ? "%" PRIu64 " s" : "%" PRIu64 " min", s < 120 ? s : s / 60);
}

static void status_put_rings(const struct recorder_status *s, struct strbuf *b)
{
	char bytes[32], most[32];

	strbuf_printf(b, "kernel    %s of %s, ", str_bytes(s->rings.bytes, bytes),
		      str_bytes(s->state.kernel_bytes, most));
	if (s->rings.wraps) {
		strbuf_puts(b, "complete for the last ");
		put_seconds(b, s->rings.covers_s);
	} else {
		strbuf_puts(b, "nothing overwritten yet");
	}
	strbuf_putc(b, '\n');
}

static void status_put_text(const struct recorder_status *s, struct strbuf *b)
{
	char count[STR_COUNT_SIZE];
	const struct recorder_state *state = &s->state;
	uint64_t age = status_age_s(s);
	char bytes[32], most[32];

	strbuf_printf(b, "recorder  %s", status_word(s));
	strbuf_puts(b, " since ");
	put_time(b, state->since_s);
	if (s->runs)
		strbuf_printf(b, " (process %" PRIu64 ")", state->pid);
	if (state->why[0])
		strbuf_printf(b, ": %s", state->why);
	strbuf_printf(b, "\nrecords   %s\n", state->words);
	if (s->has_rings)
		status_put_rings(s, b);
	strbuf_printf(b, "ring      %s, %s of %s, covering ", str_count(s->parts.n, "part", count),
		      str_bytes(s->parts.bytes, bytes), str_bytes(state->max_bytes, most));
	put_seconds(b, age);
	strbuf_printf(b, " of %" PRIu64 " min\n", state->keep_s / 60);
	strbuf_printf(b, "directory %s\n", s->dir);
	if (state->restarts)
		strbuf_printf(b, "restarts  %" PRIu64 "\n", state->restarts);
	if (state->snapshots || state->snapshots_failed || state->snapshots_skipped)
		strbuf_printf(b,
			      "triggers  %" PRIu64 " saved in snapshots/, %" PRIu64
			      " not saved, %" PRIu64 " skipped\n",
			      state->snapshots, state->snapshots_failed, state->snapshots_skipped);
	if (state->crash[0])
		strbuf_printf(b, "crash     %s\n", state->crash);
	strbuf_puts(b, "next      sonda snapshot --last 5m ");
	if (strcmp(s->dir, RECORDER_DEFAULT_DIR) != 0) {
		strbuf_puts(b, "--dir ");
		strbuf_put_word(b, s->dir);
		strbuf_putc(b, ' ');
	}
	strbuf_puts(b, "recorder\n");
}

static void status_put_json(const struct recorder_status *s, struct strbuf *b)
{
	const struct recorder_state *state = &s->state;

	strbuf_puts(b, "{\"state\":");
	strbuf_put_json(b, s->runs ? state->what : "not_running");
	strbuf_puts(b, ",\"reason\":");
	strbuf_put_json(b, state->why);
	strbuf_puts(b, ",\"words\":");
	strbuf_put_json(b, state->words);
	strbuf_puts(b, ",\"dir\":");
	strbuf_put_json(b, s->dir);
	strbuf_printf(b,
		      ",\"pid\":%" PRIu64 ",\"since_s\":%" PRIu64
		      ",\"parts\":%zu,\"bytes\":%" PRIu64 ",\"max_bytes\":%" PRIu64
		      ",\"age_s\":%" PRIu64 ",\"keep_s\":%" PRIu64 ",\"restarts\":%" PRIu64
		      ",\"snapshots\":%" PRIu64 ",\"snapshots_failed\":%" PRIu64
		      ",\"triggers_skipped\":%" PRIu64 ",\"crash\":",
		      state->pid, state->since_s, s->parts.n, s->parts.bytes, state->max_bytes,
		      status_age_s(s), state->keep_s, state->restarts, state->snapshots,
		      state->snapshots_failed, state->snapshots_skipped);
	strbuf_put_json(b, state->crash);
	strbuf_printf(b,
		      ",\"in_kernel\":%s,\"kernel_max_bytes\":%" PRIu64 ",\"kernel_bytes\":%" PRIu64
		      ",\"kernel_covers_s\":",
		      state->kernel_bytes ? "true" : "false", state->kernel_bytes, s->rings.bytes);
	strbuf_printf(b, s->rings.wraps ? "%" PRIu64 "}\n" : "null}\n", s->rings.covers_s);
}

/* Prints the status. Returns an exit code, which is EXIT_FAILED if the recorder does not record; or
 * -errno and sets e. */
static int recorder_print_status(const struct recorder_options *o, struct err_text *e)
{
	struct recorder_status status;
	struct strbuf text = {0};
	int r = recorder_status_read(o->dir, &status, e), code;

	if (r < 0) {
		recorder_parts_deinit(&status.parts);
		return r;
	}
	if (o->json)
		status_put_json(&status, &text);
	else
		status_put_text(&status, &text);
	code = verb_print(&text);
	if (!status.runs || strcmp(status.state.what, "recording") != 0)
		code = EXIT_FAILED;
	strbuf_deinit(&text);
	recorder_parts_deinit(&status.parts);
	return code;
}

/* ---- enable, disable ---- */

/* Prints the kernel memory of the rings. The kernel cannot swap it. */
static void print_kernel_memory(const struct recorder_options *o)
{
	uint64_t available = memory_available("/proc");
	char bytes[32], of[32];

	printf("the rings take %s of kernel memory", str_bytes(o->kernel_bytes, bytes));
	if (available != UINT64_MAX)
		printf("; %s is available", str_bytes(available, of));
	putchar('\n');
	if (o->kernel_bytes > available / 4)
		log_warn("the rings take more than a quarter of the available memory and cannot be "
			 "swapped out; choose a smaller --size");
}

/* Prints the measured cost of each preset. */
static void print_costs(const struct recorder_options *o)
{
	struct presets *presets = presets_new(NULL);
	char *const word = (char *)RECORDER_DEFAULT_WORD;
	char *const *words = o->n_words ? o->words : &word;
	const struct preset *preset;
	struct err_text e;

	for (size_t i = 0; presets && i < MAX(o->n_words, (size_t)1); i++)
		if (presets_find(presets, words[i], strlen(words[i]), &preset, &e) == 0)
			printf("%s: %s\n", words[i],
			       preset->cost ? preset->cost : "cost not measured");
	presets_free(presets);
}

static int recorder_enable(const struct recorder_options *o, struct err_text *e)
{
	Pb__TraceConfig *config;
	int r = recorder_config_build(o, &config, e);

	if (r < 0)
		return r;
	pb__trace_config__free_unpacked(config, NULL);
	if (o->in_kernel)
		print_kernel_memory(o);
	if (o->crash)
		r = recorder_crash_prepare_boot(o->crash_bytes, o->grub, e);
	if (r == 0)
		r = recorder_unit_enable(o, e);
	if (r < 0)
		return r;
	if (!o->in_kernel)
		print_costs(o);
	return recorder_print_status(o, e);
}

static int remove_ring(const char *dir, struct err_text *e)
{
	struct recorder_parts parts = {0};
	char path[PATH_MAX];
	int lock, r = recorder_dir_lock(dir, &lock, e);

	if (r < 0)
		return r;
	r = recorder_parts_read(dir, &parts);
	for (size_t i = 0; r == 0 && i < parts.n; i++)
		if (recorder_part_path(dir, &parts.of[i], path) || unlink(path) < 0)
			r = -errno;
	recorder_parts_deinit(&parts);
	close(lock);
	return r < 0 ? err_set(e, r, "cannot remove the ring in %.300s: %s", dir, strerror(-r)) : 0;
}

static int recorder_disable(const struct recorder_options *o, struct err_text *e)
{
	struct recorder_options unit = {.dir = o->dir};
	int r = recorder_unit_read(&unit, e);

	if (r < 0 && r != -ENOENT)
		return r;
	r = recorder_unit_disable(e);
	if (r == 0 && unit.crash)
		r = recorder_crash_stop(e);
	if (r == 0)
		recorder_kernel_remove(unit.dir);
	if (r == 0 && o->remove)
		r = remove_ring(unit.dir, e);
	if (r == 0 && !o->remove)
		printf("the ring stays in %s; sonda recorder disable --remove removes it\n",
		       unit.dir);
	recorder_options_deinit(&unit);
	return r;
}

/* ---- the verb ---- */

static int recorder_run_action(const struct recorder_options *o, struct err_text *e)
{
	switch (o->action) {
	case RECORDER_ENABLE:
		return recorder_enable(o, e);
	case RECORDER_STATUS:
		return recorder_print_status(o, e);
	case RECORDER_DISABLE:
		return recorder_disable(o, e);
	case RECORDER_RUN:
		return recorder_run(o, e);
	}
	return -EINVAL;
}

int cmd_recorder(int argc, char **argv)
{
	struct recorder_options o;
	struct err_text e;
	int r = recorder_options_parse(argc, argv, &o, &e);

	if (r < 0) {
		log_error("recorder: %s", e.text);
		log_error("see sonda help recorder");
		return EXIT_USAGE;
	}
	if (o.help) {
		help_print(recorder_usage);
		recorder_options_deinit(&o);
		return EXIT_GOOD;
	}
	r = recorder_run_action(&o, &e);
	recorder_options_deinit(&o);
	if (r >= 0)
		return r;
	log_error("recorder: %s", e.text);
	return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}
