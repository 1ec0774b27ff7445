/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "procfs/sys/file_numbers.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_source.h"

/*
 * Files that the config names: every number in them is a counter track. sonda-probes may read more
 * than the author of the config, so files that are not readable by everybody are not read: see
 * user_file_is_allowed() and is_public_file() of sys_file.c. A step serves one file.
 */

#define FILES_MAX 64
#define NUMBERS_MAX 512 /* limit for one file; further numbers are dropped, which is logged */
#define BYTES_MAX 65536

/* A name in the file; most files have them in the same order at each poll. */
struct user_number {
	char *name; /* owned */
	uint32_t extra; /* EXTRA_COUNTER_NONE: not selected */
	uint32_t pass; /* last pass that set it */
};

struct user_file {
	char *path; /* owned; as in the config */
	struct sys_file file;
	struct counter_patterns counters;
	struct sys_errors errors;
	uint32_t group;
	struct user_number *known; /* owned */
	size_t n, cap;
	size_t at; /* index of the name that is expected next */
	bool refused;
	bool limit_logged;
};

struct sys_files {
	struct sys_state base;
	struct user_file *files; /* owned */
	size_t n;
	size_t next; /* next file of this pass */
	uint32_t pass;
	struct sys_packet *p; /* borrowed during a step */
};

/* ---- numbers ---- */

static struct user_number *user_file_add_number(struct sys_files *s, struct user_file *f,
						struct span name)
{
	struct user_number *k;
	char *text;

	if (f->n == NUMBERS_MAX && !f->limit_logged)
		log_warn("linux.sys_stats: %s has more than %d numbers; the rest is dropped",
			 f->path, NUMBERS_MAX);
	f->limit_logged = f->limit_logged || f->n == NUMBERS_MAX;
	if (f->n == NUMBERS_MAX ||
	    array_reserve(&f->known, &f->cap, f->n + 1, sizeof(*f->known)) < 0 ||
	    !(text = strndup(name.p, name.len)))
		return NULL;
	k = &f->known[f->n++];
	*k = (struct user_number){.name = text, .extra = EXTRA_COUNTER_NONE};
	if (!counter_patterns_are_given(&f->counters) || counter_patterns_match(&f->counters, text))
		k->extra =
			extra_counters_find_or_add(&s->p->extras, f->group, name,
						   &(struct track_spec){.unit = TRACK_UNIT_NONE});
	return k;
}

static struct user_number *user_file_find_or_add(struct sys_files *s, struct user_file *f,
						 struct span name)
{
	if (f->at < f->n && span_is(name, f->known[f->at].name))
		return &f->known[f->at++];
	for (size_t i = 0; i < f->n; i++) {
		if (!span_is(name, f->known[i].name))
			continue;
		f->at = i + 1;
		return &f->known[i];
	}
	return user_file_add_number(s, f, name);
}

/* Of several numbers with one name the first counts. */
static void files_set_number(void *ctx, struct span name, const struct counter_number *v)
{
	struct sys_files *s = ctx;
	struct user_number *k = user_file_find_or_add(s, &s->files[s->next], name);

	if (!k || k->pass == s->pass)
		return;
	k->pass = s->pass;
	if (v->is_double)
		extra_counters_set_double(&s->p->extras, k->extra, v->d);
	else
		extra_counters_set(&s->p->extras, k->extra, v->i);
}

static int files_parse(void *state, struct sys_packet *p, struct span text)
{
	struct sys_files *s = state;
	const struct user_file *f = &s->files[s->next];

	return file_numbers_parse(text, strrchr(f->path, '/') + 1, files_set_number, s);
}

static void files_poll_file(struct sys_files *s, struct user_file *f)
{
	uint64_t failed = f->errors.count;

	sys_file_poll(&f->file, s->p, &f->errors, files_parse, s);
	if (s->pass == 1 && f->errors.count == failed)
		counter_patterns_log_unmatched(&f->counters, f->path);
}

static bool files_step(void *state, struct sys_packet *p)
{
	struct sys_files *s = state;
	struct user_file *f;

	if (s->n == 0)
		return false;
	f = &s->files[s->next];
	s->p = p;
	s->pass += s->next == 0;
	f->at = 0;
	if (!f->refused)
		files_poll_file(s, f);
	else if (f->errors.count == 0)
		sys_packet_count_error(p, &f->errors, f->path, EPERM);
	s->next = (s->next + 1) % s->n;
	return s->next > 0;
}

/* ---- the config ---- */

/* Returns the part of path after root and its slash, or NULL if path is not below root. */
static const char *user_file_cut_root(const char *path, const char *root)
{
	size_t n = strlen(root);

	return strncmp(path, root, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/* Returns true if `rest`, a path below /proc (of_proc) or /sys, stays below it and names no file of
 * a process, which may be one of another user, or this one. */
static bool user_file_is_allowed(const char *rest, bool of_proc)
{
	if (!*rest || strstr(rest, "..") || rest[strlen(rest) - 1] == '/')
		return false;
	return !of_proc ||
	       !(isdigit((unsigned char)*rest) || *rest == '/' || *rest == '.' ||
		 strncmp(rest, "self", 4) == 0 || strncmp(rest, "thread-self", 11) == 0);
}

/* Prepares the file for reading, or refuses and logs it. Returns 0 in both cases, or -ENOMEM. */
static int user_file_open(struct user_file *f, struct sys_packet *p)
{
	const char *in_proc = user_file_cut_root(f->path, "/proc"),
		   *in_sys = user_file_cut_root(f->path, "/sys");
	const char *rest = in_proc ? in_proc : in_sys, *root = in_proc ? p->proc_root : p->sys_root;
	struct stat st;
	int r;

	f->refused = !rest || !user_file_is_allowed(rest, in_proc) || stat(root, &st) < 0;
	if (f->refused) {
		log_warn("linux.sys_stats: files: '%.200s' is not a file in /proc or /sys, or "
			 "belongs to one process",
			 f->path);
		return 0;
	}
	r = sys_file_init(&f->file, false, root, "%s", rest);
	f->file.max = BYTES_MAX;
	f->file.public_on = st.st_dev;
	f->group = extra_counters_add_group(&p->extras, f->path);
	return r;
}

static void files_close(void *state, struct sys_packet *p)
{
	struct sys_files *s = state;

	for (size_t i = 0; i < s->n; i++) {
		struct user_file *f = &s->files[i];

		for (size_t k = 0; k < f->n; k++)
			free(f->known[k].name);
		free(f->known);
		counter_patterns_deinit(&f->counters);
		sys_file_deinit(&f->file, p);
		free(f->path);
	}
	free(s->files);
}

static int files_add_file(struct sys_files *s, struct sys_packet *p,
			  const Pb__SysStatsConfig__File *c)
{
	struct user_file *f = &s->files[s->n++];
	int r;

	f->errors.what = "files";
	f->path = strdup(c->path ? c->path : "");
	if (!f->path)
		return -ENOMEM;
	r = counter_patterns_init(&f->counters, f->path, c->counters, c->n_counters, NULL);
	return r < 0 ? r : user_file_open(f, p);
}

static int files_open(void *state, struct sys_packet *p, const Pb__SysStatsConfig *c)
{
	struct sys_files *s = state;
	size_t n = MIN(c->n_files, (size_t)FILES_MAX);
	int r = 0;

	s->files = calloc(n + 1, sizeof(*s->files));
	if (!s->files)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = files_add_file(s, p, c->files[i]);
	if (r == 0 && n < c->n_files)
		log_warn("linux.sys_stats: files: %zu of %zu entries are skipped: the limit is %d",
			 c->n_files - n, c->n_files, FILES_MAX);
	return r;
}

const struct sys_source sys_files = {
	.name = "files",
	.period = offsetof(Pb__SysStatsConfig, files_period_ms),
	.size = sizeof(struct sys_files),
	.open = files_open,
	.step = files_step,
	.close = files_close,
};
