/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/findings/finding.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "base/text/str.h"

#define FILE_MAX_BYTES (256u << 10)

/* ---- the head of a file ---- */

/* One line of the head. */
struct head_line {
	const char *path;
	unsigned number;
	struct err_text *e;
};

#define line_error(l, fmt, ...)                                                                    \
	err_set((l)->e, -EINVAL, "%s:%u: " fmt, (l)->path, (l)->number, ##__VA_ARGS__)

/* Cuts the first word off and returns it, or NULL at the end. */
static char *cut_first_word(char **rest)
{
	char *word;

	do
		word = strsep(rest, " \t");
	while (word && !*word);
	return word;
}

static char *skip_blanks(char *s)
{
	return s ? s + strspn(s, " \t") : NULL;
}

static bool is_identifier(const char *s)
{
	for (const char *p = s; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			return false;
	return *s && !isdigit((unsigned char)*s);
}

static int finding_add_needs(struct finding *f, char *rest, const struct head_line *l)
{
	static const char *const kinds[] = {[NEED_EVENT] = "event",
					    [NEED_SOURCE] = "source",
					    [NEED_COUNTER] = "counter",
					    [NEED_TABLE] = "table"};
	char *next = rest, *term, *word;

	while ((term = next)) {
		struct finding_need *need = &f->needs[f->n_needs];
		unsigned kind = 0;

		next = strstr(term, " or ");
		if (next) {
			*next = '\0';
			next += strlen(" or ");
		}
		word = cut_first_word(&term);
		term = skip_blanks(term);
		while (word && kind < ARRAY_SIZE(kinds) && strcmp(kinds[kind], word) != 0)
			kind++;
		if (!word || !term || !*term || kind == ARRAY_SIZE(kinds) ||
		    (kind == NEED_TABLE && !is_identifier(term)))
			return line_error(l, "@needs must be 'event GROUP/NAME', 'source NAME', "
					     "'counter PATTERN' or 'table NAME', with 'or' between "
					     "alternatives");
		if (f->n_needs == FINDING_NEEDS_MAX)
			return line_error(l, "more than %d terms in @needs", FINDING_NEEDS_MAX);
		*need = (struct finding_need){
			.kind = (enum need_kind)kind, .name = term, .or_next = next != NULL};
		f->n_needs++;
	}
	return 0;
}

static int finding_add_threshold(struct finding *f, char *rest, const struct head_line *l)
{
	char *column = cut_first_word(&rest), *min = cut_first_word(&rest);
	const char *end = min;
	double v;

	if (!column || !is_identifier(column) || !min || str_read_double(&end, &v) == -EINVAL ||
	    *end)
		return line_error(l, "@threshold must be COLUMN MINIMUM, such as: share_pct 20");
	if (f->n_thresholds == FINDING_THRESHOLDS_MAX)
		return line_error(l, "more than %d @threshold lines", FINDING_THRESHOLDS_MAX);
	rest = skip_blanks(rest);
	f->thresholds[f->n_thresholds++] =
		(struct finding_threshold){.column = column, .min = v, .of = rest ? rest : ""};
	return 0;
}

/* Reads the word after "-- @" and its value. */
static int finding_read_word(struct finding *f, char *line, const struct head_line *l)
{
	const struct {
		const char *word;
		const char **to;
	} texts[] = {{"title", &f->title},
		     {"record", &f->record},
		     {"words", &f->words},
		     {"more", &f->more}};
	char *rest = line, *word = cut_first_word(&rest);

	rest = skip_blanks(rest);
	if (!word || !rest || !*rest)
		return line_error(l, "@%.40s has no value", word ? word : "");
	if (!strcmp(word, "needs"))
		return finding_add_needs(f, rest, l);
	if (!strcmp(word, "threshold"))
		return finding_add_threshold(f, rest, l);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (!strcmp(texts[i].word, word)) {
			if (*texts[i].to)
				return line_error(l, "@%s appears twice", word);
			*texts[i].to = rest;
			return 0;
		}
	return line_error(
		l,
		"unknown keyword @%.40s; the keywords are title, needs, record, threshold, "
		"words and more",
		word);
}

/* Reads the lines up to the first one of SQL. Cuts the text in place. */
static int finding_read_head(struct finding *f, struct head_line *l)
{
	char *rest = f->head, *line;

	while ((line = strsep(&rest, "\n"))) {
		int r;

		l->number++;
		line = skip_blanks(line);
		line[strcspn(line, "\r")] = '\0';
		if (*line && !str_starts(line, "--"))
			break;
		if (!str_starts(line, "-- @"))
			continue;
		r = finding_read_word(f, line + strlen("-- @"), l);
		if (r < 0)
			return r;
	}
	l->number = 1;
	if (!line)
		return line_error(l, "the file contains no SELECT");
	if (!f->title || !f->words)
		return line_error(l, "the file contains no line '-- @%s ...'",
				  f->title ? "words" : "title");
	return f->n_thresholds ? 0 : line_error(l, "the file contains no line '-- @threshold ...'");
}

/* Returns a copy of the file's name without ".sql", which the caller frees; NULL if out of
 * memory. */
static char *finding_name_of_path(const char *path)
{
	const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
	size_t len = strlen(from);

	return strndup(from, str_ends(from, ".sql") ? len - strlen(".sql") : len);
}

int finding_parse(const char *path, const char *text, struct finding *ret, struct err_text *e)
{
	struct finding f = {.name = finding_name_of_path(path),
			    .path = strdup(path),
			    .sql = strdup(text),
			    .head = strdup(text)};
	struct head_line l = {.path = path, .e = e};
	int r = -ENOMEM;

	if (f.name && f.path && f.sql && f.head)
		r = finding_read_head(&f, &l);
	else
		err_set(e, r, "%s: %s", path, strerror(ENOMEM));
	if (r < 0)
		finding_deinit(&f);
	else
		*ret = f;
	return r;
}

void finding_deinit(struct finding *f)
{
	free(f->name);
	free(f->path);
	free(f->sql);
	free(f->head);
	*f = (struct finding){.n_needs = 0};
}

unsigned finding_line_of(const struct finding *f, int offset)
{
	unsigned line = 1;

	for (int i = 0; i < offset && f->sql[i]; i++)
		line += f->sql[i] == '\n';
	return line;
}

/* ---- lists ---- */

/* Adds a finding to the list, in place of an earlier one with the same name. Takes over what f
 * owns, and frees it on failure. */
static int finding_list_put(struct finding_list *l, struct finding *f, struct err_text *e)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->of[i].name, f->name)) {
			finding_deinit(&l->of[i]);
			l->of[i] = *f;
			return 0;
		}
	if (array_reserve(&l->of, &l->cap, l->n + 1, sizeof(*l->of)) < 0) {
		finding_deinit(f);
		return err_set(e, -ENOMEM, "%s", strerror(ENOMEM));
	}
	l->of[l->n++] = *f;
	return 0;
}

int finding_list_add_built_in(struct finding_list *l, struct err_text *e)
{
	for (const struct finding_text *t = finding_texts; t->name; t++) {
		struct finding f;
		int r = finding_parse(t->name, t->text, &f, e) ?: finding_list_put(l, &f, e);

		if (r < 0)
			return r;
	}
	return 0;
}

static int finding_list_add_file(struct finding_list *l, const char *path, struct err_text *e)
{
	struct strbuf text = {0};
	struct finding f;
	int r = fs_read_file(path, FILE_MAX_BYTES, &text);

	if (r < 0)
		err_set(e, r, "cannot read %s: %s", path,
			r == -EFBIG ? "too large for a finding" : strerror(-r));
	else if (memchr(text.s ? text.s : "", '\0', text.len))
		r = err_set(e, -EINVAL, "%s: not a text file: it contains a NUL byte", path);
	else
		r = finding_parse(path, text.s ? text.s : "", &f, e);
	strbuf_deinit(&text);
	return r < 0 ? r : finding_list_put(l, &f, e);
}

struct name_array {
	char **of; /* owned, with the strings */
	size_t n, cap;
};

static int add_sql_file_name(void *ctx, const char *name, unsigned char d_type)
{
	struct name_array *names = ctx;

	(void)d_type;
	if (!str_ends(name, ".sql") || *name == '.')
		return 0;
	if (array_reserve(&names->of, &names->cap, names->n + 1, sizeof(*names->of)) < 0)
		return -ENOMEM;
	names->of[names->n] = strdup(name);
	return names->of[names->n] ? (names->n++, 0) : -ENOMEM;
}

static int compare_file_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int finding_list_add_dir(struct finding_list *l, const char *dir, struct err_text *e)
{
	struct name_array names = {0};
	char path[PATH_MAX];
	int r = fs_each(dir, add_sql_file_name, &names);

	if (r < 0)
		err_set(e, r, "cannot read %s: %s", dir, strerror(-r));
	if (names.n)
		qsort(names.of, names.n, sizeof(*names.of), compare_file_names);
	for (size_t i = 0; i < names.n; i++) {
		if (r == 0) {
			r = fs_join(path, sizeof(path), dir, names.of[i]);
			r = r < 0 ? err_set(e, r, "%s: %s", dir, strerror(-r))
				  : finding_list_add_file(l, path, e);
		}
		free(names.of[i]);
	}
	free(names.of);
	return r;
}

int finding_list_add(struct finding_list *l, const char *path, struct err_text *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set(e, -errno, "cannot read %s: %s", path, strerror(errno));
	return S_ISDIR(st.st_mode) ? finding_list_add_dir(l, path, e)
				   : finding_list_add_file(l, path, e);
}

void finding_list_deinit(struct finding_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		finding_deinit(&l->of[i]);
	free(l->of);
	*l = (struct finding_list){.n = 0};
}
