/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/diff/diff_page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "cli/diff/diff_output.h"
#include "cli/trace/out_path.h"

/* diff_page.html with the program and the style in it, made by tools/page_parts.sh. */
extern const char diff_page_before[], diff_page_before_end[], diff_page_after[],
	diff_page_after_end[];

/* Writes JSON as a script element. Names from the traces are in strings, where an escape keeps '<'
 * from being markup. */
static void put_json_element(const char *id, const char *json, size_t len, FILE *to)
{
	fprintf(to, "<script type=\"application/json\" id=\"%s\">", id);
	for (size_t i = 0; i < len; i++)
		if (json[i] == '<')
			fputs("\\u003c", to);
		else
			putc(json[i], to);
	fputs("</script>\n", to);
}

/* Writes the page of one recording as an iframe. The page is the value of the attribute srcdoc, so
 * & and " in it are escaped. */
static int put_timeline(const char *side, FILE *from, FILE *to)
{
	int c;

	rewind(from);
	fprintf(to, "<iframe id=\"timeline-%s\" title=\"Timeline of %s\" srcdoc=\"", side, side);
	while ((c = getc_unlocked(from)) != EOF)
		if (c == '&')
			fputs("&amp;", to);
		else if (c == '"')
			fputs("&quot;", to);
		else
			putc_unlocked(c, to);
	fputs("\"></iframe>\n", to);
	return ferror(from) ? -EIO : 0;
}

static int write_parts_of_diff_page(const struct diff_traces *t, const struct diff_results *r,
				    FILE *to)
{
	char *rows = NULL, *stacks = NULL;
	size_t rows_len = 0, stacks_len = 0;
	FILE *rows_to = open_memstream(&rows, &rows_len);
	FILE *stacks_to = open_memstream(&stacks, &stacks_len);
	int e = rows_to && stacks_to ? diff_put_json(t, r, rows_to) : -ENOMEM;

	if (stacks_to)
		diff_stacks_print(&t->stacks, t->n_traces, stacks_to);
	if ((rows_to && fclose(rows_to)) || (stacks_to && fclose(stacks_to)))
		e = -ENOMEM;
	if (e == 0) {
		fwrite(diff_page_before, 1, (size_t)(diff_page_before_end - diff_page_before), to);
		put_json_element("rows", rows, rows_len, to);
		put_json_element("stacks", stacks, stacks_len, to);
		for (int side = 0; side < 2 && e == 0; side++)
			if (t->timelines[side])
				e = put_timeline(side ? "B" : "A", t->timelines[side], to);
		fwrite(diff_page_after, 1, (size_t)(diff_page_after_end - diff_page_after), to);
	}
	free(rows);
	free(stacks);
	return e;
}

/* Writes the page to `to` and closes it, unless it is stdout. to: NULL with errno set if it could
 * not be opened. */
static int write_diff_page_to(const struct diff_traces *t, const struct diff_results *r, FILE *to,
			      const char *path, struct err_text *e)
{
	int ret, closed;

	if (!to)
		return err_set(e, -errno, "%s: %s", path, strerror(errno));
	ret = write_parts_of_diff_page(t, r, to);
	closed = out_close(to, path, e);
	return ret < 0 ? err_set(e, ret, "%s: %s", path, strerror(-ret)) : closed;
}

int diff_page_write(const struct diff_traces *t, const struct diff_results *r, const char *path,
		    struct err_text *e)
{
	struct out_path out;
	FILE *special = NULL;
	int ret;

	if (!strcmp(path, "-"))
		return write_diff_page_to(t, r, stdout, path, e);
	ret = out_path_open_special(path, &special, e);
	if (ret < 0)
		return ret;
	if (special)
		return write_diff_page_to(t, r, special, path, e);
	ret = out_path_create(&out, path, false, true, e);
	if (ret < 0)
		return ret;
	ret = write_diff_page_to(t, r, out_path_open(&out, NULL), path, e);
	if (ret == 0)
		return out_path_finish(&out, e);
	out_path_deinit(&out);
	return ret;
}
