/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules are few and checked in order for every record. Threads may be thousands and are found by
 * binary search.
 */
#include "ftrace/events/print_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

struct rule {
	char *type; /* owned; NULL: compares the start of the text */
	char *prefix; /* owned */
	size_t type_len;
	size_t prefix_len;
	bool allow;
};

struct print_filter {
	uint32_t *tids; /* owned; sorted; NULL: all threads */
	size_t n_tids;
	size_t n_rules;
	struct rule rules[];
};

static int set_rule(struct rule *r, const Pb__FtraceConfig__PrintFilter__Rule *config)
{
	const Pb__FtraceConfig__PrintFilter__Rule__AtraceMessage *m = NULL;
	const char *prefix = "";

	if (config->match_case == PB__FTRACE_CONFIG__PRINT_FILTER__RULE__MATCH_ATRACE_MSG)
		m = config->atrace_msg;
	else if (config->match_case == PB__FTRACE_CONFIG__PRINT_FILTER__RULE__MATCH_PREFIX)
		prefix = config->prefix;
	if (m) {
		r->type = strdup(m->type ? m->type : "");
		prefix = m->prefix ? m->prefix : "";
	}
	r->prefix = strdup(prefix);
	if (!r->prefix || (m && !r->type))
		return -ENOMEM;
	r->type_len = r->type ? strlen(r->type) : 0;
	r->prefix_len = strlen(r->prefix);
	r->allow = config->allow;
	return 0;
}

static int compare_filter_tids(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int set_tids(struct print_filter *f, const uint32_t *tids, size_t n)
{
	f->tids = calloc(n, sizeof(*f->tids));
	if (!f->tids)
		return -ENOMEM;
	memcpy(f->tids, tids, n * sizeof(*tids));
	f->n_tids = n;
	qsort(f->tids, n, sizeof(*f->tids), compare_filter_tids);
	return 0;
}

int print_filter_new(const Pb__FtraceConfig *config, bool follow, struct print_filter **ret)
{
	const Pb__FtraceConfig__PrintFilter *p = config->print_filter;
	size_t n_rules = p ? p->n_rules : 0, n_tids = config->n_tids_to_trace;
	struct print_filter *f;
	int r = 0;

	if (follow)
		n_tids = 0;
	*ret = NULL;
	if (!n_rules && !n_tids)
		return 0;
	if (n_rules > PRINT_FILTER_MAX_RULES)
		return -E2BIG;
	f = calloc(1, sizeof(*f) + n_rules * sizeof(*f->rules));
	if (!f)
		return -ENOMEM;
	f->n_rules = n_rules;
	for (size_t i = 0; !r && i < n_rules; i++)
		r = set_rule(&f->rules[i], p->rules[i]);
	if (!r && n_tids)
		r = set_tids(f, config->tids_to_trace, n_tids);
	if (r)
		f = print_filter_free(f);
	*ret = f;
	return r;
}

struct print_filter *print_filter_free(struct print_filter *f)
{
	if (!f)
		return NULL;
	for (size_t i = 0; i < f->n_rules; i++) {
		free(f->rules[i].type);
		free(f->rules[i].prefix);
	}
	free(f->tids);
	free(f);
	return NULL;
}

/* Returns the text after the word, or NULL if the text does not start with the word. */
static const uint8_t *skip_word(const uint8_t *p, const uint8_t *end, const char *word, size_t len)
{
	return (size_t)(end - p) >= len && !memcmp(p, word, len) ? p + len : NULL;
}

/* Returns the text after "|DIGITS|", or NULL if that is missing. */
static const uint8_t *skip_number(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *digits;

	if (p == end || *p++ != '|')
		return NULL;
	for (digits = p; p < end && *p >= '0' && *p <= '9'; p++)
		;
	return p > digits && p < end && *p == '|' ? p + 1 : NULL;
}

static bool rule_matches(const struct rule *r, const uint8_t *p, const uint8_t *end)
{
	if (r->type) {
		p = skip_word(p, end, r->type, r->type_len);
		if (p)
			p = skip_number(p, end);
	}
	return p && skip_word(p, end, r->prefix, r->prefix_len);
}

bool print_filter_has_tids(const struct print_filter *f)
{
	return f->tids;
}

bool print_filter_allows_tid(const struct print_filter *f, uint32_t tid)
{
	return !f->tids || bsearch(&tid, f->tids, f->n_tids, sizeof(tid), compare_filter_tids);
}

bool print_filter_allows(const struct print_filter *f, uint32_t tid, const uint8_t *text,
			 size_t len)
{
	const uint8_t *end = text + strnlen((const char *)text, len);

	if (!print_filter_allows_tid(f, tid))
		return false;
	for (size_t i = 0; i < f->n_rules; i++)
		if (rule_matches(&f->rules[i], text, end))
			return f->rules[i].allow;
	return true;
}
