/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/diff/diff_condition.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"
#include "base/text/str.h"

#define EXAMPLE "example: 'latency p99 > +10%%'"

/* ---- the text ---- */

static const struct report *find_metric(const char *name)
{
	for (size_t i = 0; i < n_diff_metrics; i++)
		if (!strcmp(diff_metrics[i].name, name))
			return &diff_metrics[i];
	return NULL;
}

static int refuse_metric(const char *name, struct err_text *e)
{
	struct strbuf names = {0};

	for (size_t i = 0; i < n_diff_metrics; i++)
		strbuf_printf(&names, "%s%s", i ? ", " : "", diff_metrics[i].name);
	err_set(e, -EINVAL, "--fail-if: unknown metric '%.40s'; the metrics are %s", name,
		names.s ? names.s : "");
	strbuf_deinit(&names);
	return -EINVAL;
}

static enum diff_measure find_measure(const char *name)
{
	for (int m = 0; m < DIFF_MEASURES; m++)
		if (!strcmp(diff_measure_names[m], name))
			return (enum diff_measure)m;
	return DIFF_MEASURES;
}

/* Reads "+10%" after the comparison sign. */
static int parse_limit(const char *text, char sign, struct diff_condition *ret, struct err_text *e)
{
	const char *end = text;
	double v;

	if (str_read_double(&end, &v) || strcmp(end + strspn(end, " "), "%") != 0 || !isfinite(v))
		return err_set(e, -EINVAL,
			       "--fail-if '%.80s': a percentage must follow %c; " EXAMPLE,
			       ret->text, sign);
	ret->ratio = v / 100;
	if (sign == '>' ? v >= 0 : v < 0)
		return 0;
	return err_set(e, -EINVAL,
		       "--fail-if '%.80s': an increase is written '> +10%%', a decrease '< -10%%'",
		       ret->text);
}

int diff_condition_parse(const char *text, struct diff_condition *ret, struct err_text *e)
{
	size_t len = strcspn(text, "<>");
	_cleanup_(freep) char *words = strndup(text, len);
	char *rest = words, *word;

	*ret = (struct diff_condition){.text = text, .measure = DIFF_MEASURES};
	if (!words)
		return err_set(e, -ENOMEM, "%s", strerror(ENOMEM));
	if (!text[len])
		return err_set(e, -EINVAL, "--fail-if '%.80s': expected > or <; " EXAMPLE, text);
	while ((word = strsep(&rest, " "))) {
		if (!*word)
			continue;
		if (!ret->metric) {
			ret->metric = find_metric(word);
			if (!ret->metric)
				return refuse_metric(word, e);
		} else if (ret->measure == DIFF_MEASURES && !ret->name[0] &&
			   find_measure(word) != DIFF_MEASURES) {
			ret->measure = find_measure(word);
		} else if (strlen(ret->name) + strlen(word) + 2 > sizeof(ret->name)) {
			return err_set(e, -EINVAL, "--fail-if '%.80s': the name is too long", text);
		} else {
			if (ret->name[0])
				strcat(ret->name, " ");
			strcat(ret->name, word);
		}
	}
	if (!ret->metric)
		return err_set(e, -EINVAL, "--fail-if '%.80s': the metric is missing; " EXAMPLE,
			       text);
	return parse_limit(text + len + 1, text[len], ret, e);
}

/* ---- the results ---- */

enum diff_measure diff_condition_measure(const struct diff_condition *c, const struct diff_row *row)
{
	return c->measure == DIFF_MEASURES ? diff_main_measure(row) : c->measure;
}

/* Returns true if the pattern matches a name, or the part before its note: "read (libc.so.6)". */
static bool name_matches(const char *pattern, const char *name)
{
	const char *note = name ? strstr(name, " (") : NULL;
	_cleanup_(freep) char *head = note ? strndup(name, (size_t)(note - name)) : NULL;

	return name && (str_glob(pattern, name) || (head && str_glob(pattern, head)));
}

static bool row_matches(const struct diff_condition *c, const struct diff_row *row)
{
	return row->metric == c->metric &&
	       (!c->name[0] || name_matches(c->name, row->program) ||
		name_matches(c->name, row->thread) || name_matches(c->name, row->what));
}

enum diff_verdict diff_condition_check(const struct diff_condition *c, const struct diff_results *r,
				       const struct diff_result **ret_row)
{
	bool tested = false;

	*ret_row = NULL;
	for (size_t i = 0; i < r->n; i++) {
		const struct diff_change *change;

		if (!row_matches(c, r->of[i].row))
			continue;
		change = &r->of[i].of[diff_condition_measure(c, r->of[i].row)];
		tested |= change->tested;
		if (!change->finding ||
		    (c->ratio < 0 ? change->ratio >= c->ratio : change->ratio <= c->ratio))
			continue;
		*ret_row = &r->of[i];
		return DIFF_HOLDS;
	}
	return tested ? DIFF_HOLDS_NOT : DIFF_NO_DATA;
}
