/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/presets.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/terminal/programs.h"
#include "config/text.h"
#include "config/trace_config.h"

struct presets {
	char *dirs[PRESET_DIRS + 1]; /* owned, and so is each of them; ends with NULL */
	struct preset **read; /* owned, and so is each of them; those found until now */
	size_t n;
	size_t cap;
};

/* ---- directories ---- */

static void add_dir(struct presets *p, const char *path, bool *failed)
{
	size_t n = 0;

	while (p->dirs[n])
		n++;
	if (n == PRESET_DIRS)
		return;
	p->dirs[n] = strdup(path);
	*failed = *failed || !p->dirs[n];
}

static void add_subdir(struct presets *p, const char *dir, const char *below, bool *failed)
{
	char path[PATH_MAX];

	if (dir && *dir == '/' && !fs_join(path, sizeof(path), dir, below))
		add_dir(p, path, failed);
}

static void add_default_dirs(struct presets *p, bool *failed)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	char shared[PATH_MAX]; /* the presets of this installation */

	if (config && *config)
		add_subdir(p, config, "sonda/presets", failed);
	else
		add_subdir(p, getenv("HOME"), ".config/sonda/presets", failed);
	add_dir(p, "/etc/sonda/presets.d", failed);
	if (!program_find_shared("presets", shared))
		add_dir(p, shared, failed);
}

struct presets *presets_new(const char *const *dirs)
{
	struct presets *p = calloc(1, sizeof(*p));
	bool failed = !p;

	if (p && !dirs)
		add_default_dirs(p, &failed);
	for (; p && dirs && *dirs; dirs++)
		add_dir(p, *dirs, &failed);
	if (failed)
		presets_free(TAKE_PTR(p));
	return p;
}

static void preset_free(struct preset *s)
{
	if (!s)
		return;
	if (s->config)
		pb__trace_config__free_unpacked(s->config, NULL);
	free(s->name);
	free(s->path);
	free(s->title);
	free(s->cost);
	free(s);
}

void presets_free(struct presets *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		preset_free(p->read[i]);
	for (size_t i = 0; p->dirs[i]; i++)
		free(p->dirs[i]);
	free(p->read);
	free(p);
}

/* ---- names ---- */

/* Writes the name with '-' for '_', as in file names. Returns false for text that cannot be the
 * name of a preset. */
static bool normalize_name(const char *name, size_t len, char ret[static PRESET_MAX_NAME])
{
	if (!len || len >= PRESET_MAX_NAME)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)name[i]) && name[i] != '-' && name[i] != '_')
			return false;
		ret[i] = name[i] == '_' ? '-' : name[i];
	}
	ret[len] = '\0';
	return true;
}

/* Writes the path of the file that has the preset. Returns false if there is none. */
static bool find_file(const struct presets *p, const char *name, char path[static PATH_MAX])
{
	char file[PRESET_MAX_NAME + sizeof(".cfg")];

	snprintf(file, sizeof(file), "%s.cfg", name);
	for (size_t i = 0; p->dirs[i]; i++)
		if (!fs_join(path, PATH_MAX, p->dirs[i], file) && !access(path, F_OK))
			return true;
	return false;
}

static const struct built_in_preset *find_built_in(const char *name)
{
	const struct built_in_preset *b = built_in_presets;

	while (b->name && strcmp(b->name, name) != 0)
		b++;
	return b->name ? b : NULL;
}

/* ---- parts ---- */

const char *const preset_part_names[PRESET_PARTS] = {"events", "counters", "ebpf", "samples"};

enum preset_part find_preset_part(const char *source)
{
	static const struct {
		const char *source;
		enum preset_part part;
	} parts[] = {
		{"linux.ftrace", PRESET_EVENTS},
		{"linux.ebpf_counters", PRESET_EBPF},
		{"linux.waits", PRESET_EBPF},
		{"linux.perf", PRESET_SAMPLES},
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!strcmp(source, parts[i].source))
			return parts[i].part;
	return PRESET_COUNTERS;
}

/* Splits "mem-ebpf" in place into "mem" and the part. Returns false for a name without a part. */
static bool split_part_off_name(char *name, enum preset_part *ret)
{
	char *dash = strrchr(name, '-');

	for (int part = 0; dash && part < PRESET_PARTS; part++)
		if (part != PRESET_SAMPLES && !strcmp(dash + 1, preset_part_names[part])) {
			*dash = '\0';
			*ret = part;
			return true;
		}
	return false;
}

/* Leaves only the data sources of a part. Returns false if there are none. */
static bool keep_sources_of_part(Pb__TraceConfig *config, enum preset_part part)
{
	size_t n = 0;

	for (size_t i = 0; i < config->n_data_sources; i++) {
		Pb__TraceConfig__DataSource *source = config->data_sources[i];

		if (find_preset_part(source->config->name) == part)
			config->data_sources[n++] = source;
		else
			protobuf_c_message_free_unpacked(&source->base, NULL);
	}
	config->n_data_sources = n;
	return n > 0;
}

/* ---- reading ---- */

/* Returns the comment at *text, up to an empty comment line or the first line that is not a
 * comment, as one line and without SPDX lines; *text is then after it. The caller frees it. Returns
 * NULL if memory runs out. */
static char *read_comment(const char **text)
{
	struct strbuf b = {0};

	strbuf_puts(&b, "");
	while (**text == '#') {
		const char *line = *text + 1 + strspn(*text + 1, " \t");
		size_t len = strcspn(line, "\n");

		*text = line + len + (line[len] == '\n');
		if (str_starts(line, "SPDX-"))
			continue;
		if (!len)
			break;
		strbuf_puts(&b, b.len ? " " : "");
		strbuf_add(&b, line, len);
	}
	if (b.s)
		str_make_plain(b.s, b.len, "");
	return strbuf_take(&b);
}

/* Reads the title, and the cost if the next paragraph begins with "Cost: ". */
static int read_comments(const char *text, struct preset *ret)
{
	static const char mark[] = "Cost: ";
	char *next;

	ret->title = read_comment(&text);
	next = read_comment(&text);
	if (next && str_starts(next, mark))
		ret->cost = strdup(next + strlen(mark));
	free(next);
	return ret->title ? 0 : -ENOMEM;
}

/* Refuses fields that only a whole session has: target_buffer, and all but data_sources. */
static int check_fields(Pb__TraceConfig *config, const char *path, struct err_text *e)
{
	size_t n = config->n_data_sources;
	struct strbuf others = {0};
	int r = 0;

	config->n_data_sources = 0;
	text_print(&config->base, &others);
	config->n_data_sources = n;
	if (others.len)
		r = err_set(e, -EINVAL,
			    "%s: %.*s: a preset may contain only data_sources; use -c for a "
			    "complete config",
			    path, (int)strcspn(others.s, ": {\n"), others.s);
	strbuf_deinit(&others);
	for (size_t i = 0; i < n && !r; i++) {
		const Pb__DataSourceConfig *c = config->data_sources[i]->config;

		if (!c || !c->name || !*c->name)
			r = err_set(e, -EINVAL, "%s: a data source has no name", path);
		else if (c->target_buffer || c->target_buffer_name)
			r = err_set(e, -EINVAL,
				    "%s: target_buffer: the command line chooses the buffers of a "
				    "preset; use -c for a complete config",
				    path);
	}
	return r;
}

static int presets_parse(const char *path, const char *text, size_t len, struct preset *ret,
			 struct err_text *e)
{
	struct strbuf errors = {0};
	int r = trace_config_load(path, text, len, TRACE_CONFIG_TEXT, &errors, &ret->config);

	/* The first line has the place and a suggestion. */
	if (r == -EINVAL)
		err_set(e, r, "%.*s", (int)strcspn(errors.s, "\n"), errors.s);
	strbuf_deinit(&errors);
	if (!r)
		r = check_fields(ret->config, path, e);
	return r ? r : read_comments(text, ret);
}

static int presets_read_file(const char *path, struct preset *ret, struct err_text *e)
{
	struct strbuf text = {0};
	int r = fs_read_file(path, PRESET_MAX_BYTES, &text);

	if (r)
		r = err_set(e, -EINVAL, "cannot read the preset %s: %s", path,
			    r == -EFBIG ? "it is too large" : strerror(-r));
	else
		r = presets_parse(path, text.s ? text.s : "", text.len, ret, e);
	if (!r) {
		ret->path = strdup(path);
		r = ret->path ? 0 : -ENOMEM;
	}
	strbuf_deinit(&text);
	return r;
}

static int read_whole_preset(const struct presets *p, const char *name, struct preset *ret,
			     struct err_text *e)
{
	const struct built_in_preset *built_in = find_built_in(name);
	char path[PATH_MAX];

	if (find_file(p, name, path))
		return presets_read_file(path, ret, e);
	if (built_in)
		return presets_parse(name, built_in->text, strlen(built_in->text), ret, e);
	return -ENOENT;
}

/* Reads a part of a preset: its title names the part, and it has no cost. */
static int read_part_of_preset(const struct presets *p, const char *name, struct preset *ret,
			       struct err_text *e)
{
	char base[PRESET_MAX_NAME];
	struct strbuf title = {0};
	enum preset_part part;
	int r;

	strcpy(base, name);
	if (!split_part_off_name(base, &part))
		return -ENOENT;
	r = read_whole_preset(p, base, ret, e);
	if (!r && !keep_sources_of_part(ret->config, part))
		r = -ENOENT;
	if (r)
		return r;
	strbuf_printf(&title, "Only the %s of %s: %s",
		      part == PRESET_EBPF ? "eBPF programs" : preset_part_names[part], base,
		      ret->title);
	free(ret->title);
	ret->title = strbuf_take(&title);
	free(TAKE_PTR(ret->cost));
	return ret->title ? 0 : -ENOMEM;
}

static int read_preset(const struct presets *p, const char *name, struct preset *ret,
		       struct err_text *e)
{
	int r = read_whole_preset(p, name, ret, e);

	if (r == -ENOENT)
		r = read_part_of_preset(p, name, ret, e);
	if (!r) {
		ret->name = strdup(name);
		r = ret->name ? 0 : -ENOMEM;
	}
	return r;
}

int presets_find(struct presets *p, const char *typed, size_t len, const struct preset **ret,
		 struct err_text *e)
{
	char name[PRESET_MAX_NAME];
	struct preset *s;
	int r;

	if (!normalize_name(typed, len, name))
		return -ENOENT;
	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->read[i]->name, name)) {
			*ret = p->read[i];
			return 0;
		}
	s = calloc(1, sizeof(*s));
	if (!s || array_reserve(&p->read, &p->cap, p->n + 1, sizeof(*p->read)))
		r = -ENOMEM;
	else
		r = read_preset(p, name, s, e);
	if (r) {
		preset_free(s);
		return r;
	}
	*ret = p->read[p->n++] = s;
	return 0;
}

bool presets_has(struct presets *p, const char *typed, size_t len)
{
	char name[PRESET_MAX_NAME], path[PATH_MAX];
	const struct preset *s;
	enum preset_part part;
	struct err_text e;

	if (!normalize_name(typed, len, name))
		return false;
	if (find_built_in(name) || find_file(p, name, path))
		return true;
	return split_part_off_name(name, &part) && !presets_find(p, typed, len, &s, &e);
}

/* ---- all presets ---- */

struct names {
	char **list; /* owned, and so is each of them */
	size_t n;
	size_t cap;
};

static int presets_add_name(struct names *l, const char *name, size_t len)
{
	char copy[PRESET_MAX_NAME];

	if (!normalize_name(name, len, copy) || strlen(copy) != len || memcmp(copy, name, len) != 0)
		return 0; /* the name of the file is not a valid preset name */
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->list[i], copy))
			return 0;
	if (array_reserve(&l->list, &l->cap, l->n + 1, sizeof(*l->list)))
		return -ENOMEM;
	l->list[l->n] = strdup(copy);
	return l->list[l->n] ? (l->n++, 0) : -ENOMEM;
}

static int add_name_of_file(void *names, const char *name, unsigned char d_type)
{
	return str_ends(name, ".cfg") ? presets_add_name(names, name, strlen(name) - 4) : 0;
}

static int presets_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int presets_for_each(struct presets *p, int (*fn)(void *ctx, const char *name), void *ctx)
{
	struct names l = {0};
	int r = 0;

	for (const struct built_in_preset *b = built_in_presets; b->name && !r; b++)
		r = presets_add_name(&l, b->name, strlen(b->name));
	for (size_t i = 0; p->dirs[i] && !r; i++)
		r = fs_each(p->dirs[i], add_name_of_file, &l) == -ENOMEM ? -ENOMEM : 0;
	if (l.n && !r)
		qsort(l.list, l.n, sizeof(*l.list), presets_by_name);
	for (size_t i = 0; i < l.n && !r; i++)
		r = fn(ctx, l.list[i]);
	for (size_t i = 0; i < l.n; i++)
		free(l.list[i]);
	free(l.list);
	return r;
}

struct search {
	struct str_nearest nearest;
	char *buf;
};

static int try_nearest_name(void *search, const char *name)
{
	struct search *s = search;

	str_nearest_try_copy(&s->nearest, name, s->buf);
	return 0;
}

const char *presets_nearest(struct presets *p, const char *word, char buf[static STR_NEAREST_SIZE])
{
	struct search s = {.buf = buf};

	str_nearest_init(&s.nearest, word);
	return presets_for_each(p, try_nearest_name, &s) ? NULL : str_nearest_get(&s.nearest);
}
