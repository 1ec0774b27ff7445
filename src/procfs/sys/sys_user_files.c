/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/counters/counter_number.h"
#include "base/system/log.h"
#include "base/core/mem.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_source.h"

/*
 * Parses the numbers of a text in an unknown format. The name of a number is made of the words
 * before it on its line:
 *
 *	1539000                             "cur_freq"     the name of the file
 *	0.52 0.58 0.59 2/345 12345          "loadavg", "loadavg 2", "loadavg 3", "loadavg 5"
 *	pgfault 12                          "pgfault"
 *	VmRSS:     4096 kB                  "VmRSS"
 *	TCP: inuse 5 orphan 0               "TCP inuse", "TCP orphan"
 *	cpu0 1 2                            "cpu0", "cpu0 2"
 *	some avg10=0.12 total=8             "some avg10", "some total"
 *
 * A word with a letter is part of a name. A word of digits and other characters ("2/345") only
 * takes a position. Several numbers may get the same name.
 */

#define FILE_NUMBER_NAME_SIZE 128 /* with the NUL; numbers with longer names are skipped */

/* The name of the next number of the line. */
struct name {
	char text[FILE_NUMBER_NAME_SIZE];
	size_t head; /* length of the name of the line, "TCP" */
	size_t len; /* length including the words after it; SIZE_MAX: too long */
	unsigned place; /* positions since the last of those words */
};

struct parser {
	counter_number_fn fn;
	void *ctx;
	const char *file;
	struct name name;
	bool any;
};

static bool has_letter(struct span word)
{
	for (size_t i = 0; i < word.len; i++)
		if (isalpha((unsigned char)word.p[i]))
			return true;
	return false;
}

static void sys_user_files_add_word(struct name *n, struct span word)
{
	size_t gap = n->len > 0;

	if (n->len >= sizeof(n->text) || word.len >= sizeof(n->text) - n->len - gap) {
		n->len = SIZE_MAX;
		return;
	}
	n->text[n->len] = ' ';
	memcpy(n->text + n->len + gap, word.p, word.len);
	n->len += gap + word.len;
}

/* The first word after a number starts a new name, which begins with that of the line. */
static void sys_user_files_take_word(struct name *n, struct span word, bool is_first)
{
	bool colon = span_ends(word, ":");

	if (n->place > 0)
		n->len = n->head;
	n->place = 0;
	sys_user_files_add_word(n, (struct span){word.p, word.len - colon});
	if (is_first && colon && n->len != SIZE_MAX)
		n->head = n->len;
}

static void report_number(struct parser *p, const struct name *n, const struct counter_number *v)
{
	char text[FILE_NUMBER_NAME_SIZE + 16];
	int len;

	if (n->len == SIZE_MAX)
		return;
	len = n->len ? snprintf(text, sizeof(text), "%.*s", (int)n->len, n->text)
		     : snprintf(text, sizeof(text), "%.*s", FILE_NUMBER_NAME_SIZE - 1, p->file);
	if (n->place > 1)
		len += snprintf(text + len, sizeof(text) - (size_t)len, " %u", n->place);
	p->any = true;
	p->fn(p->ctx, (struct span){text, (size_t)len}, v);
}

/* Takes "key=value". Returns false if the word is no such pair. */
static bool take_pair(struct parser *p, struct span word)
{
	const char *eq = memchr(word.p, '=', word.len);
	struct counter_number v;
	struct name n = p->name;
	struct span key, value;

	if (!eq || eq == word.p)
		return false;
	key = (struct span){word.p, (size_t)(eq - word.p)};
	value = (struct span){eq + 1, word.len - key.len - 1};
	n.place = 0;
	sys_user_files_add_word(&n, key);
	if (counter_number_parse(value, &v))
		report_number(p, &n, &v);
	return true;
}

static void sys_user_files_parse_line(struct parser *p, struct span line)
{
	struct counter_number v;
	struct span word;

	p->name.head = p->name.len = p->name.place = 0;
	for (bool first = true; span_next_word(&line, &word); first = false) {
		if (counter_number_parse(word, &v)) {
			p->name.place++;
			report_number(p, &p->name, &v);
		} else if (memchr(word.p, '\0', word.len)) {
			p->name.place++; /* no text */
		} else if (!take_pair(p, word)) {
			if (has_letter(word) || (first && span_ends(word, ":")))
				sys_user_files_take_word(&p->name, word, first);
			else
				p->name.place++;
		}
	}
}

/* file: the name of numbers without words. Returns 0, or -EBADMSG if the text has no number. */
static int file_numbers_parse(struct span text, const char *file, counter_number_fn fn, void *ctx)
{
	struct parser p = {.fn = fn, .ctx = ctx, .file = file};
	struct span line;

	while (span_next_line(&text, &line))
		sys_user_files_parse_line(&p, line);
	return p.any ? 0 : -EBADMSG;
}

/*
 * Files that the config names: every number in them is a counter track. sonda-probes may read more
 * than the author of the config, so files that are not readable by everybody are not read: see
 * is_named_well() and may_be_shown() of sys_file.c. A step serves one file.
 */

#define FILES_MAX 64
#define NUMBERS_MAX 512 /* limit for one file; further numbers are dropped, which is logged */
#define BYTES_MAX 65536

/* A name in the file; most files have them in the same order at each poll. */
struct known {
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
	struct known *known; /* owned */
	size_t n, cap;
	size_t at; /* index of the name that is expected next */
	bool refused;
	bool limit_logged;
};

struct sys_files {
	struct user_file *files; /* owned */
	size_t n;
	size_t next; /* next file of this pass */
	uint32_t pass;
	struct sys_packet *p; /* borrowed during a step */
};

/* ---- numbers ---- */

static struct known *learn(struct sys_files *s, struct user_file *f, struct span name)
{
	struct known *k;
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
	*k = (struct known){.name = text, .extra = EXTRA_COUNTER_NONE};
	if (!counter_patterns_given(&f->counters) || counter_patterns_match(&f->counters, text))
		k->extra = extra_counters_find(&s->p->extras, f->group, name,
					       &(struct track_spec){.unit = TRACK_UNIT_NONE});
	return k;
}

static struct known *sys_user_files_find(struct sys_files *s, struct user_file *f, struct span name)
{
	if (f->at < f->n && span_is(name, f->known[f->at].name))
		return &f->known[f->at++];
	for (size_t i = 0; i < f->n; i++) {
		if (!span_is(name, f->known[i].name))
			continue;
		f->at = i + 1;
		return &f->known[i];
	}
	return learn(s, f, name);
}

/* Of several numbers with one name the first counts. */
static void on_number(void *ctx, struct span name, const struct counter_number *v)
{
	struct sys_files *s = ctx;
	struct known *k = sys_user_files_find(s, &s->files[s->next], name);

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

	(void)p;
	return file_numbers_parse(text, strrchr(f->path, '/') + 1, on_number, s);
}

static void poll_file(struct sys_files *s, struct user_file *f)
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
		poll_file(s, f);
	else if (f->errors.count == 0)
		sys_packet_error(p, &f->errors, f->path, EPERM);
	s->next = (s->next + 1) % s->n;
	return s->next > 0;
}

/* ---- the config ---- */

/* Returns the part of path behind root and its slash, or NULL if path is not below root. */
static const char *below(const char *path, const char *root)
{
	size_t n = strlen(root);

	return strncmp(path, root, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/*
 * Returns true if rest names a file that belongs to no process: the process may be one of another
 * user, or this one.
 */
static bool is_named_well(const char *rest, bool of_proc)
{
	if (!*rest || strstr(rest, "..") || rest[strlen(rest) - 1] == '/')
		return false;
	return !of_proc ||
	       !(isdigit((unsigned char)*rest) || *rest == '/' || *rest == '.' ||
		 strncmp(rest, "self", 4) == 0 || strncmp(rest, "thread-self", 11) == 0);
}

static int sys_user_files_open_file(struct user_file *f, struct sys_packet *p)
{
	const char *in_proc = below(f->path, "/proc"), *in_sys = below(f->path, "/sys");
	const char *rest = in_proc ? in_proc : in_sys, *root = in_proc ? p->proc_root : p->sys_root;
	struct stat st;
	int r;

	f->refused = !rest || !is_named_well(rest, in_proc) || stat(root, &st) < 0;
	if (f->refused) {
		log_warn("linux.sys_stats: files: '%.200s' is not a file of /proc or /sys, or "
			 "belongs to a process",
			 f->path);
		return 0;
	}
	r = sys_file_init(&f->file, false, root, "%s", rest);
	f->file.max = BYTES_MAX;
	f->file.public_on = st.st_dev;
	f->group = extra_counters_group(&p->extras, f->path);
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
	free(s);
}

static int sys_user_files_add_file(struct sys_files *s, struct sys_packet *p,
				   const Pb__SysStatsConfig__File *c)
{
	struct user_file *f = &s->files[s->n++];
	int r;

	f->errors.what = "files";
	f->path = strdup(c->path ? c->path : "");
	if (!f->path)
		return -ENOMEM;
	r = counter_patterns_init(&f->counters, f->path, c->counters, c->n_counters, NULL);
	return r < 0 ? r : sys_user_files_open_file(f, p);
}

static int files_open(struct sys_packet *p, const Pb__SysStatsConfig *c, void **ret_state)
{
	struct sys_files *s = calloc(1, sizeof(*s));
	size_t n = MIN(c->n_files, (size_t)FILES_MAX);
	int r = 0;

	if (!s || !(s->files = calloc(n + 1, sizeof(*s->files)))) {
		free(s);
		return -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < n; i++)
		r = sys_user_files_add_file(s, p, c->files[i]);
	if (r < 0) {
		files_close(s, p);
		return r;
	}
	if (n < c->n_files)
		log_warn("linux.sys_stats: files: %zu of %zu are skipped: the limit is %d",
			 c->n_files - n, c->n_files, FILES_MAX);
	*ret_state = s;
	return 0;
}

const struct sys_source sys_files = {
	.name = "files",
	.period = offsetof(Pb__SysStatsConfig, files_period_ms),
	.open = files_open,
	.step = files_step,
	.close = files_close,
};
