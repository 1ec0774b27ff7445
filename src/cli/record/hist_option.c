/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/hist_option.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"
#include "cli/record/record_ftrace.h"
#include "config/source_merge.h"

typedef Pb__EbpfCountersConfig__Histogram histogram_config;
typedef Pb__EbpfCountersConfig__Histogram__Linear linear_config;

#define LINEAR_STEPS_MAX 254u /* of EbpfCountersConfig.Histogram.Linear */
#define EXAMPLE "'block_rq_complete: nr_sector by comm'"

/* What is parsed: the text of one option. */
struct hist_parse {
	const char *text; /* as typed; borrowed */
	char *rest; /* words that are left */
	const struct tracefs_events *events; /* may be NULL */
	histogram_config *to;
	struct err_text *e;
};

static int set_hist_error(const struct hist_parse *p, const char *what)
{
	return err_set(p->e, -EINVAL, "--hist '%.120s': %s", p->text, what);
}

/* Returns the next word, without spaces around it; NULL: there is none. */
static char *parse_hist_word(struct hist_parse *p)
{
	char *word;

	p->rest += strspn(p->rest, " \t");
	word = p->rest;
	p->rest += strcspn(p->rest, " \t");
	if (*p->rest)
		*p->rest++ = '\0';
	return *word ? word : NULL;
}

/* ---- events ---- */

static int check_event(const struct hist_parse *p, const char *event)
{
	char buf[TRACEFS_EVENTS_MAX_NAME];
	const char *nearest;

	if (!p->events || !p->events->n || tracefs_events_has(p->events, event))
		return 0;
	nearest = tracefs_events_nearest(p->events, event, buf);
	return err_set(p->e, -EINVAL, "--hist: no event is named '%.80s'%s%s%s", event,
		       nearest ? "; did you mean " : "", nearest ?: "", nearest ? "?" : "");
}

/* Parses an event: "block:block_rq_issue" is "block/block_rq_issue" in a config. */
static int parse_hist_event(const struct hist_parse *p, char *event, char **to)
{
	size_t len;
	char *colon;

	event += strspn(event, " \t");
	len = strlen(event);
	while (len && isspace((unsigned char)event[len - 1]))
		event[--len] = '\0';
	colon = strchr(event, ':');
	if (colon)
		*colon = '/';
	if (!*event || strpbrk(event, " \t*?"))
		return set_hist_error(p, "one event is needed before the colon, as in " EXAMPLE);
	if (message_set_string(to, event))
		return -ENOMEM;
	return check_event(p, event);
}

static int parse_hist_events(struct hist_parse *p, char *events)
{
	char *second = strstr(events, "..");
	int r;

	if (second) {
		*second = '\0';
		second += strlen("..");
	}
	r = parse_hist_event(p, events, &p->to->event);
	return r || !second ? r : parse_hist_event(p, second, &p->to->end_event);
}

/* ---- values and keys ---- */

static int parse_hist_matches(struct hist_parse *p, char *names)
{
	char *name;
	int r = 0;

	if (!p->to->end_event)
		return set_hist_error(p, "'on' applies only to times between two events");
	while (!r && (name = strsep(&names, ",")))
		if (*name)
			r = message_add_string(&p->to->n_match, &p->to->match, name);
	return r ? -ENOMEM : 0;
}

static bool read_number(const char *text, int64_t *ret)
{
	return !str_read_i64(&text, 10, ret) && !*text;
}

/* Parses "MIN..MAX step STEP", of which range is the first word. */
static int parse_hist_linear(struct hist_parse *p, char *range)
{
	char *max = strstr(range, ".."), *step_word = parse_hist_word(p);
	char *step_text = step_word ? parse_hist_word(p) : NULL;
	linear_config *l = malloc(sizeof(*l));
	int64_t to, step = 0;

	if (!l)
		return -ENOMEM;
	pb__ebpf_counters_config__histogram__linear__init(l);
	p->to->linear = l;
	if (max) {
		*max = '\0';
		max += strlen("..");
	}
	if (!max || !step_text || strcmp(step_word, "step") != 0 || !read_number(range, &l->min) ||
	    !read_number(max, &to) || !read_number(step_text, &step) || step <= 0 || to <= l->min)
		return set_hist_error(p,
				      "expected MIN..MAX step STEP, as in 'linear 0..256 step 8'");
	if (((uint64_t)to - (uint64_t)l->min) % (uint64_t)step)
		return set_hist_error(p, "the range must be a multiple of the step");
	if (((uint64_t)to - (uint64_t)l->min) / (uint64_t)step > LINEAR_STEPS_MAX)
		return set_hist_error(p, "too many steps; the limit is 254");
	l->has_min = l->has_step = l->has_steps = true;
	l->step = (uint64_t)step;
	l->steps = (uint32_t)(((uint64_t)to - (uint64_t)l->min) / (uint64_t)step);
	return 0;
}

static int parse_hist_clause(struct hist_parse *p, const char *word)
{
	histogram_config *h = p->to;
	char *value;

	if (!strcmp(word, "log2"))
		return 0;
	if (strcmp(word, "by") != 0 && strcmp(word, "on") != 0 && strcmp(word, "linear") != 0)
		return set_hist_error(p, "expected 'by KEY', 'on FIELDS' or 'linear MIN..MAX step "
					 "STEP' after the field");
	value = parse_hist_word(p);
	if (!value)
		return set_hist_error(p, "a word is missing at the end");
	if (*word == 'l')
		return h->linear ? set_hist_error(p, "'linear' is given twice")
				 : parse_hist_linear(p, value);
	if (*word == 'o')
		return parse_hist_matches(p, value);
	if (h->key)
		return set_hist_error(p, "only one key can be given");
	return message_set_string(&h->key, value) ? -ENOMEM : 0;
}

static int parse_hist_value(struct hist_parse *p)
{
	char *word = parse_hist_word(p);

	if (!word)
		return set_hist_error(p, "a field is needed after the colon, as in " EXAMPLE);
	if (!p->to->end_event)
		return message_set_string(&p->to->field, word) ? -ENOMEM : 0;
	return strcmp(word, "time") == 0
		       ? 0
		       : set_hist_error(p, "between two events, only 'time' can be counted");
}

static int parse_hist(struct hist_parse *p, char *copy)
{
	char *colon = strrchr(copy, ':'), *word;
	int r;

	if (!colon)
		return set_hist_error(p, "expected EVENT: FIELD [by KEY], as in " EXAMPLE);
	*colon = '\0';
	p->rest = colon + 1;
	r = parse_hist_events(p, copy);
	if (!r)
		r = parse_hist_value(p);
	while (!r && (word = parse_hist_word(p)))
		r = parse_hist_clause(p, word);
	return r;
}

/* ---- the data sources ---- */

static int add_hist(const char *text, const struct tracefs_events *events,
		    Pb__EbpfCountersConfig *c, struct err_text *e)
{
	_cleanup_(freep) char *copy = strdup(text);
	struct hist_parse p = {.text = text, .events = events, .e = e};

	p.to = message_add_submessage(&c->n_histograms, &c->histograms,
				      &pb__ebpf_counters_config__histogram__descriptor);
	return copy && p.to ? parse_hist(&p, copy) : -ENOMEM;
}

static int add_group_names(const Pb__EbpfCountersConfig *c, uint32_t buffer,
			   Pb__TraceConfig *config)
{
	Pb__DataSourceConfig source = PB__DATA_SOURCE_CONFIG__INIT;

	source.name = (char *)"linux.cgroup_members";
	for (size_t i = 0; i < c->n_histograms; i++)
		if (c->histograms[i]->key && !strcmp(c->histograms[i]->key, "cgroup"))
			return config_add_source(config, &source, buffer);
	return 0;
}

int hist_option_put(const char *const *texts, size_t n, const struct tracefs_events *events,
		    uint32_t buffer, Pb__TraceConfig *config, struct err_text *e)
{
	Pb__DataSourceConfig *source = malloc(sizeof(*source));
	Pb__EbpfCountersConfig *c = malloc(sizeof(*c));
	int r = source && c ? 0 : -ENOMEM;

	if (r) {
		free(source);
		free(c);
		return r;
	}
	pb__data_source_config__init(source);
	pb__ebpf_counters_config__init(c);
	source->ebpf_counters_config = c;
	r = message_set_string(&source->name, "linux.ebpf_counters");
	for (size_t i = 0; i < n && !r; i++)
		r = add_hist(texts[i], events, c, e);
	if (!r)
		r = config_add_source(config, source, buffer);
	if (!r)
		r = add_group_names(c, buffer, config);
	pb__data_source_config__free_unpacked(source, NULL);
	return r;
}
