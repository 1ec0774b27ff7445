/* SPDX-License-Identifier: Apache-2.0 */
#include "service/filter/filter_strings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/regex.h"
#include "service/filter/filter_bytecode.h"
#include "service/ipc/limits.h"

#define POLICY(name) PB__TRACE_CONFIG__TRACE_FILTER__STRING_FILTER_POLICY__SFP_##name
#define UNSPECIFIED 0

typedef Pb__TraceConfig__TraceFilter__StringFilterRule pb_rule;
typedef Pb__TraceConfig__TraceFilter__StringFilterChain pb_chain;

struct rule {
	struct regex *regex; /* owned */
	const char *name; /* borrowed, only while the chains are read; may be "" */
	char *prefix; /* owned */
	size_t prefix_len;
	uint64_t types; /* bit n: applies to semantic type n */
	bool is_atrace, searches, redacts;
};

struct filter_strings {
	struct rule rules[MAX_FILTER_RULES];
	size_t n;
};

/* ---- one text ---- */

static void redact_bytes(uint8_t *p, size_t len)
{
	static const char words[] = "P60REDACTED";
	size_t n = MIN(len, sizeof(words) - 1);

	memcpy(p, words, n);
	memset(p + n, '-', len - n);
}

static void redact_groups(const struct rule *r, uint8_t *text, const struct regex_span *spans)
{
	for (size_t i = 1; i < regex_groups(r->regex); i++)
		if (spans[i].begin != REGEX_UNSET)
			redact_bytes(text + spans[i].begin, spans[i].end - spans[i].begin);
}

/* Redacts the groups if the whole text matches. Returns 1 if it matches, 0 if not, or -E2BIG. */
static int match_and_redact(const struct rule *r, uint8_t *text, size_t len, uint64_t *budget)
{
	struct regex_span spans[REGEX_MAX_GROUPS];
	int found =
		regex_match(r->regex, REGEX_WHOLE, text, len, 0, r->redacts ? spans : NULL, budget);

	if (found == 1 && r->redacts)
		redact_groups(r, text, spans);
	return found;
}

/* Redacts the groups of all matches in the text. Returns 1 if there are any, 0 if not, or
 * -E2BIG. */
static int redact_all_matches(const struct rule *r, uint8_t *text, size_t len, uint64_t *budget)
{
	struct regex_span spans[REGEX_MAX_GROUPS];
	size_t from = 0;
	int found, any = 0;

	while (from <= len) {
		found = regex_match(r->regex, REGEX_SEARCH, text, len, from, spans, budget);
		if (found != 1)
			return found < 0 ? found : any;
		any = 1;
		redact_groups(r, text, spans);
		from = spans[0].end + (spans[0].end == spans[0].begin);
	}
	return any;
}

/* Returns the text after the second bar of "B|123|text", or NULL if it is not such a marker. */
static const uint8_t *find_payload(const uint8_t *text, size_t len)
{
	const uint8_t *bar;

	if (len < 3 || text[0] == 'E')
		return NULL;
	bar = memchr(text, '|', len);
	if (bar)
		bar = memchr(bar + 1, '|', (size_t)(text + len - (bar + 1)));
	return bar ? bar + 1 : NULL;
}

static bool rule_applies(const struct rule *r, const uint8_t *payload, const uint8_t *end)
{
	if (!r->is_atrace)
		return true;
	return payload && (size_t)(end - payload) >= r->prefix_len &&
	       memcmp(payload, r->prefix, r->prefix_len) == 0;
}

int filter_strings_apply(struct filter_strings *s, uint32_t semantic_type, uint8_t *text,
			 size_t len, uint64_t *budget)
{
	const uint8_t *payload = find_payload(text, len);
	int r;

	if (semantic_type >= FILTER_OTHER_TYPE)
		return 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct rule *rule = &s->rules[i];

		if (!(rule->types >> semantic_type & 1) || !rule_applies(rule, payload, text + len))
			continue;
		r = rule->searches ? redact_all_matches(rule, text, len, budget)
				   : match_and_redact(rule, text, len, budget);
		if (r != 0)
			return r < 0 ? r : 0;
	}
	return 0;
}

/* ---- rules ---- */

static int set_policy(struct rule *r, int policy, struct err_text *e)
{
	r->is_atrace = policy == POLICY(ATRACE_MATCH_REDACT_GROUPS) ||
		       policy == POLICY(ATRACE_MATCH_BREAK) ||
		       policy == POLICY(ATRACE_REPEATED_SEARCH_REDACT_GROUPS);
	r->searches = policy == POLICY(ATRACE_REPEATED_SEARCH_REDACT_GROUPS);
	r->redacts = policy != POLICY(MATCH_BREAK) && policy != POLICY(ATRACE_MATCH_BREAK);
	if (!r->is_atrace && policy != POLICY(MATCH_REDACT_GROUPS) && policy != POLICY(MATCH_BREAK))
		return err_set(e, -EINVAL, "a string rule has the unknown policy %d", policy);
	return 0;
}

static int set_types(struct rule *r, const pb_rule *from, struct err_text *e)
{
	for (size_t i = 0; i < from->n_semantic_type; i++) {
		uint32_t type = (uint32_t)from->semantic_type[i];

		if (type >= FILTER_OTHER_TYPE)
			return err_set(e, -EINVAL, "a string rule has the unknown semantic_type %d",
				       (int)type);
		r->types |= 1ull << type;
	}
	if (from->n_semantic_type == 0)
		r->types = 1ull << UNSPECIFIED;
	return 0;
}

static void string_rule_deinit(struct rule *r)
{
	regex_free(r->regex);
	free(r->prefix);
}

static int string_rule_init(struct rule *r, const pb_rule *from, struct err_text *e)
{
	const char *prefix = from->atrace_payload_starts_with;
	struct err_text why;
	int error = set_policy(r, (int)from->policy, e);

	if (error == 0)
		error = set_types(r, from, e);
	if (error < 0)
		return error;
	r->name = from->name ? from->name : "";
	r->prefix = strdup(prefix ? prefix : "");
	if (!r->prefix)
		return err_set(e, -ENOMEM, "out of memory");
	r->prefix_len = strlen(r->prefix);
	error = regex_new(from->regex_pattern ? from->regex_pattern : "", &why, &r->regex);
	return error < 0 ? err_set(e, error, "regex_pattern %s", why.text) : 0;
}

/* Returns the slot of a new rule: that of a rule of the same name, or the end of the table.
 * Returns NULL if the table is full. */
static struct rule *filter_strings_find_slot_for(struct filter_strings *s, const char *name)
{
	for (size_t i = 0; i < s->n && name && *name; i++)
		if (!strcmp(s->rules[i].name, name))
			return &s->rules[i];
	return s->n < MAX_FILTER_RULES ? &s->rules[s->n] : NULL;
}

/* Adds a rule, or replaces the one of the same name. Returns 0, or -EINVAL or -ENOMEM and sets
 * e. */
static int filter_strings_add_rule(struct filter_strings *s, const pb_rule *from,
				   struct err_text *e)
{
	struct rule *slot = filter_strings_find_slot_for(s, from->name), new = {0};
	int r;

	if (!slot)
		return err_set(e, -EINVAL, "too many string rules; the limit is %u",
			       MAX_FILTER_RULES);
	r = string_rule_init(&new, from, e);
	if (r < 0) {
		string_rule_deinit(&new);
		return r;
	}
	if (slot == &s->rules[s->n])
		s->n++;
	else
		string_rule_deinit(slot);
	*slot = new;
	return 0;
}

static int add_chain(struct filter_strings *s, const pb_chain *chain, struct err_text *e)
{
	int r = 0;

	for (size_t i = 0; chain && i < chain->n_rules && r == 0; i++)
		r = filter_strings_add_rule(s, chain->rules[i], e);
	return r;
}

int filter_strings_new(const pb_chain *chain, const pb_chain *chain_v54, struct err_text *e,
		       struct filter_strings **ret)
{
	struct filter_strings *s = calloc(1, sizeof(*s));
	int r = s ? add_chain(s, chain, e) : err_set(e, -ENOMEM, "out of memory");

	if (r == 0)
		r = add_chain(s, chain_v54, e);
	if (r < 0) {
		filter_strings_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void filter_strings_free(struct filter_strings *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		string_rule_deinit(&s->rules[i]);
	free(s);
}
