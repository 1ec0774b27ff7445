/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_findings.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/sql_output.h"

#define LIST_WIDTH 100 /* width of a list of names without a terminal */

/* The result of a finding. */
struct outcome {
	const struct finding *of;
	int missing; /* index of the need that is not met; -1: none */
	sqlite3_stmt *rows; /* owned; NULL: no evidence */
	double share_pct; /* value of the first row */
	size_t order; /* in the list */
};

/* ---- files ---- */

/* Adds the findings in the user's directory, if it exists: $XDG_CONFIG_HOME/sonda/findings, or
 * ~/.config/sonda/findings. */
static int add_users_dir(struct finding_list *l, struct err_text *e)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	bool has_config = config && *config == '/';
	char path[PATH_MAX];

	if (!has_config && !(home && *home == '/'))
		return 0;
	if (fs_join(path, sizeof(path), has_config ? config : home,
		    has_config ? "sonda/findings" : ".config/sonda/findings") < 0 ||
	    access(path, F_OK) < 0)
		return 0;
	return finding_list_add(l, path, e);
}

static int load_findings(const struct report_options *o, struct finding_list *ret,
			 struct err_text *e)
{
	int r = finding_list_add_built_in(ret, e) ?: add_users_dir(ret, e);

	return r == 0 && o->findings ? finding_list_add(ret, o->findings, e) : r;
}

/* ---- sentences ---- */

/* Returns the index of the column, or -1. */
static int find_column(sqlite3_stmt *st, const char *name, size_t len)
{
	for (int i = 0; i < sqlite3_column_count(st); i++)
		if (!strncmp(sqlite3_column_name(st, i), name, len) &&
		    !sqlite3_column_name(st, i)[len])
			return i;
	return -1;
}

/* Appends the text with the values of the current row in place of {COLUMN}. words: the values are
 * shell words, else as in a table. */
static void put_text_with_values(const char *text, sqlite3_stmt *st, bool words,
				 const struct report_style *style, struct strbuf *b)
{
	while (*text) {
		size_t len = strcspn(text, "{"), name;
		int column;

		strbuf_add(b, text, len);
		text += len;
		if (!*text)
			break;
		name = strcspn(text + 1, "}");
		column = text[1 + name] ? find_column(st, text + 1, name) : -1;
		if (column < 0) {
			strbuf_putc(b, *text++);
			continue;
		}
		if (words) {
			const char *value = (const char *)sqlite3_column_text(st, column);

			strbuf_put_word(b, value ? value : "-");
		} else {
			report_table_put_value(st, column, style, b);
		}
		text += name + 2;
	}
}

static void put_sentence(const struct outcome *c, const struct findings_output *o, struct strbuf *b)
{
	put_text_with_values(c->of->words, c->rows, false, o->style, b);
}

/* Appends the command that shows more, as the user types it. */
static void put_command_for_more(const struct outcome *c, const struct findings_output *o,
				 struct strbuf *b)
{
	strbuf_puts(b, "sonda ");
	put_text_with_values(c->of->more, c->rows, true, o->style, b);
	if (o->machine >= 0)
		strbuf_printf(b, " --machine %" PRId64, o->machine);
	if (o->options->file) {
		strbuf_putc(b, ' ');
		strbuf_put_word(b, o->options->file);
	}
}

/* Moves to the first row, whose values the sentences name. */
static void go_to_first_row(const struct outcome *c)
{
	sqlite3_reset(c->rows);
	sqlite3_step(c->rows);
}

/* ---- text ---- */

static void print_sentences(const struct outcome *of, size_t n, const struct findings_output *o)
{
	struct strbuf b = {0};

	for (size_t i = 0; i < n; i++) {
		go_to_first_row(&of[i]);
		strbuf_clear(&b);
		put_sentence(&of[i], o, &b);
		fprintf(o->out, "%5.1f %%  %s%s%s: %s\n", of[i].share_pct,
			report_style_bold(o->style), of[i].of->title, report_style_plain(o->style),
			b.s ? b.s : "");
	}
	strbuf_deinit(&b);
}

/* Prints the thresholds of a finding and its rows. Returns 0 or -EIO. */
static int print_evidence(const struct outcome *c, const struct findings_output *o)
{
	const struct finding *f = c->of;
	struct strbuf b = {0};
	int n;

	go_to_first_row(c);
	fprintf(o->out, "\n%s%s%s", report_style_bold(o->style), f->title,
		report_style_plain(o->style));
	if (f->more) {
		put_command_for_more(c, o, &b);
		fprintf(o->out, "   %s(%s)%s", report_style_dim(o->style), b.s ? b.s : "",
			report_style_plain(o->style));
		strbuf_clear(&b);
	}
	for (size_t i = 0; i < f->n_thresholds; i++) {
		strbuf_puts(&b, i ? "; " : "");
		report_table_put_number(f->thresholds[i].column, f->thresholds[i].min, &b);
		strbuf_printf(&b, *f->thresholds[i].of ? " %s" : "%s", f->thresholds[i].of);
	}
	fprintf(o->out, "\n  at least %s\n", b.s ? b.s : "");
	strbuf_deinit(&b);
	sqlite3_reset(c->rows);
	o->style->top = o->window.top;
	n = report_table_print(c->rows, o->style, o->out);
	return n < 0 ? -EIO : 0;
}

/* Prints the titles of the findings that were checked and not found, separated by commas and
 * wrapped to the width. */
static void print_nothing_found(const struct outcome *of, size_t n, const struct findings_output *o)
{
	int width = o->style->width ?: LIST_WIDTH, column = 0;

	for (size_t i = 0; i < n; i++) {
		const char *title = of[i].of->title;
		int len = report_text_width(title);

		if (of[i].missing >= 0 || of[i].rows)
			continue;
		if (!column)
			column = fprintf(o->out, "\nChecked, nothing found:");
		else
			fputc(',', o->out);
		if (column + len + 2 > width)
			column = fprintf(o->out, "\n ") - 1;
		column += len + 2;
		fprintf(o->out, " %s", title);
	}
	fputs(column ? "\n" : "", o->out);
}

static void print_not_recorded(const struct outcome *of, size_t n, const struct findings_output *o)
{
	struct strbuf b = {0};
	bool some = false;
	int width = 0;

	for (size_t i = 0; i < n; i++)
		if (of[i].missing >= 0)
			width = MAX(width, report_text_width(of[i].of->title));
	for (size_t i = 0; i < n; i++) {
		const struct finding *f = of[i].of;

		if (of[i].missing < 0)
			continue;
		strbuf_clear(&b);
		finding_put_need(f, (size_t)of[i].missing, &b);
		if (!some)
			fprintf(o->out, "\n%sNot checked, because data was not recorded%s\n",
				report_style_bold(o->style), report_style_plain(o->style));
		fprintf(o->out, "  %s%*s  lacks %s", f->title, width - report_text_width(f->title),
			"", b.s ? b.s : "");
		if (f->record)
			fprintf(o->out, "; sonda record %s", f->record);
		fputc('\n', o->out);
		some = true;
	}
	strbuf_deinit(&b);
}

static int print_text(const struct outcome *of, size_t n, size_t found,
		      const struct findings_output *o)
{
	int r = 0;

	if (found)
		fprintf(o->out, "%sFindings: share of the affected threads' time%s\n",
			report_style_bold(o->style), report_style_plain(o->style));
	else
		fputs("No finding\n", o->out);
	print_sentences(of, found, o);
	for (size_t i = 0; i < found && r == 0; i++)
		r = print_evidence(&of[i], o);
	print_nothing_found(of, n, o);
	print_not_recorded(of, n, o);
	return r;
}

/* ---- CSV and JSON ---- */

static int print_csv(const struct outcome *of, size_t found, const struct findings_output *o)
{
	struct strbuf b = {0};
	int r = SQLITE_OK;
	bool some;

	for (size_t i = 0; i < found && r == SQLITE_OK; i++) {
		go_to_first_row(&of[i]);
		strbuf_clear(&b);
		put_sentence(&of[i], o, &b);
		fprintf(o->out, "# %s: %s\n", of[i].of->title, b.s ? b.s : "");
		sqlite3_reset(of[i].rows);
		r = sql_output_write_and_check(of[i].rows, o->options->csv, o->out, &some);
	}
	strbuf_deinit(&b);
	return r == SQLITE_OK ? 0 : -EIO;
}

static void put_key_text(struct strbuf *b, const char *key, const char *text)
{
	strbuf_printf(b, ", \"%s\": ", key);
	strbuf_put_json(b, text);
}

/* Writes a finding with evidence up to its rows. */
static void put_json_head(const struct outcome *c, const struct findings_output *o,
			  struct strbuf *b)
{
	const struct finding *f = c->of;
	struct strbuf text = {0};

	go_to_first_row(c);
	strbuf_puts(b, "{\"name\": ");
	strbuf_put_json(b, f->name);
	put_key_text(b, "title", f->title);
	strbuf_printf(b, ", \"share_pct\": %.3f", c->share_pct);
	put_sentence(c, o, &text);
	put_key_text(b, "words", text.s ? text.s : "");
	strbuf_clear(&text);
	if (f->more) {
		put_command_for_more(c, o, &text);
		put_key_text(b, "more", text.s ? text.s : "");
	}
	strbuf_puts(b, ", \"thresholds\": [");
	for (size_t i = 0; i < f->n_thresholds; i++) {
		strbuf_puts(b, i ? ", {\"column\": " : "{\"column\": ");
		strbuf_put_json(b, f->thresholds[i].column);
		strbuf_printf(b, ", \"min\": %.17g", f->thresholds[i].min);
		put_key_text(b, "of", f->thresholds[i].of);
		strbuf_putc(b, '}');
	}
	strbuf_puts(b, "], \"rows\": ");
	strbuf_deinit(&text);
}

static int print_json(const struct outcome *of, size_t n, size_t found,
		      const struct findings_output *o)
{
	struct strbuf b = {0};
	const char *comma = "";
	int r = SQLITE_OK;
	bool some;

	fprintf(o->out,
		"{\"report\": \"findings\", \"start_ts\": %" PRId64
		", \"empty\": %s, \"findings\": [",
		o->tables->store.start_ts, found ? "false" : "true");
	for (size_t i = 0; i < found && r == SQLITE_OK; i++) {
		strbuf_clear(&b);
		put_json_head(&of[i], o, &b);
		fprintf(o->out, "%s%s", i ? ", " : "", b.s ? b.s : "");
		sqlite3_reset(of[i].rows);
		r = sql_output_write_and_check(of[i].rows, SQL_JSON, o->out, &some);
		fputc('}', o->out);
	}
	strbuf_clear(&b);
	strbuf_puts(&b, "], \"nothing_found\": [");
	for (size_t i = 0; i < n; i++)
		if (of[i].missing < 0 && !of[i].rows) {
			strbuf_puts(&b, comma);
			strbuf_put_json(&b, of[i].of->name);
			comma = ", ";
		}
	strbuf_puts(&b, "], \"not_recorded\": [");
	comma = "";
	for (size_t i = 0; i < n; i++) {
		struct strbuf need = {0};

		if (of[i].missing < 0)
			continue;
		finding_put_need(of[i].of, (size_t)of[i].missing, &need);
		strbuf_printf(&b, "%s{\"name\": ", comma);
		strbuf_put_json(&b, of[i].of->name);
		put_key_text(&b, "title", of[i].of->title);
		put_key_text(&b, "lacks", need.s ? need.s : "");
		put_key_text(&b, "record", of[i].of->record ? of[i].of->record : "");
		strbuf_putc(&b, '}');
		strbuf_deinit(&need);
		comma = ", ";
	}
	fprintf(o->out, "%s]", b.s ? b.s : "");
	strbuf_deinit(&b);
	if (r == SQLITE_OK && o->losses && report_losses_any(o->losses)) {
		fputs(", \"lost\": ", o->out);
		r = report_losses_json(o->losses, o->tables->db, o->out);
	}
	fputs("}\n", o->out);
	return r == SQLITE_OK ? 0 : -EIO;
}

/* ---- the report ---- */

/* Sorts findings with evidence first, the largest share first. */
static int compare_shares(const void *a, const void *b)
{
	const struct outcome *x = a, *y = b;

	if (!x->rows != !y->rows)
		return x->rows ? -1 : 1;
	if (x->rows && x->share_pct != y->share_pct)
		return x->share_pct > y->share_pct ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int report_findings_run(const struct finding_list *list, struct outcome *of,
			       struct findings_output *o, struct err_text *e)
{
	const struct recorded recorded = {.db = o->tables->db,
					  .config = o->tables->result.config,
					  .config_len = o->tables->result.config_len};

	if (findings_make_tables(o->tables->db, o->window.from, o->window.to) != SQLITE_OK)
		return err_set(e, -EIO, "%s", sqlite3_errmsg(o->tables->db));
	for (size_t i = 0; i < list->n; i++) {
		int r = 0;

		of[i] = (struct outcome){.of = &list->of[i],
					 .missing = recorded_find_missing(&recorded, &list->of[i]),
					 .order = i};
		if (of[i].missing < 0)
			r = finding_run(o->tables->db, of[i].of, (unsigned)i, &o->window,
					&of[i].rows, &of[i].share_pct, e);
		if (r < 0)
			return r;
		o->answered |= of[i].missing < 0;
	}
	return 0;
}

static int print_outcomes(const struct outcome *of, size_t n, const struct findings_output *o)
{
	size_t found = 0;

	while (found < n && of[found].rows)
		found++;
	switch (o->options->format) {
	case REPORT_JSON:
		return print_json(of, n, found, o);
	case REPORT_CSV:
		return print_csv(of, found, o);
	default:
		return print_text(of, n, found, o);
	}
}

int report_findings_print(struct findings_output *o, struct err_text *e)
{
	struct finding_list list = {0};
	struct outcome *of = NULL;
	int r = load_findings(o->options, &list, e);

	if (r == 0) {
		of = calloc(list.n, sizeof(*of));
		r = of ? report_findings_run(&list, of, o, e)
		       : err_set(e, -ENOMEM, "%s", strerror(ENOMEM));
	}
	if (r == 0) {
		qsort(of, list.n, sizeof(*of), compare_shares);
		r = print_outcomes(of, list.n, o);
		if (r < 0)
			err_set(e, r, "%s", sqlite3_errmsg(o->tables->db));
	}
	for (size_t i = 0; of && i < list.n; i++)
		sqlite3_finalize(of[i].rows);
	free(of);
	finding_list_deinit(&list);
	return r;
}
