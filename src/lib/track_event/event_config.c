/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/track_event/event_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

#define NAME_MAX_LEN 255u /* of a dynamic category; longer names are truncated first */

enum pass { PASS_EXACT, PASS_PREFIX, PASS_ALL, PASSES };

/* ---- reading ---- */

static int add_pattern(struct event_patterns *p, const struct pb_field *f)
{
	char **list = reallocarray(p->list, p->n + 1, sizeof(*list));
	char *text;

	if (!list)
		return -ENOMEM;
	p->list = list;
	text = strndup((const char *)f->data, f->len);
	if (!text)
		return -ENOMEM;
	p->list[p->n++] = text;
	return 0;
}

static void patterns_deinit(struct event_patterns *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->list[i]);
	free(p->list);
}

void event_config_free(struct event_config *c)
{
	if (!c)
		return;
	patterns_deinit(&c->disabled_categories);
	patterns_deinit(&c->enabled_categories);
	patterns_deinit(&c->disabled_tags);
	patterns_deinit(&c->enabled_tags);
	free(c);
}

static int event_config_read_text(struct event_config *c, const struct pb_field *f)
{
	switch (f->id) {
	case PB_TRACK_EVENT_CONFIG_DISABLED_CATEGORIES:
		return add_pattern(&c->disabled_categories, f);
	case PB_TRACK_EVENT_CONFIG_ENABLED_CATEGORIES:
		return add_pattern(&c->enabled_categories, f);
	case PB_TRACK_EVENT_CONFIG_DISABLED_TAGS:
		return add_pattern(&c->disabled_tags, f);
	case PB_TRACK_EVENT_CONFIG_ENABLED_TAGS:
		return add_pattern(&c->enabled_tags, f);
	}
	return 0;
}

static void event_config_read_number(struct event_config *c, const struct pb_field *f)
{
	switch (f->id) {
	case PB_TRACK_EVENT_CONFIG_DISABLE_INCREMENTAL_TIMESTAMPS:
		c->disable_incremental_timestamps = f->u64;
		break;
	case PB_TRACK_EVENT_CONFIG_TIMESTAMP_UNIT_MULTIPLIER:
		c->unit_multiplier = MAX(f->u64, 1);
		break;
	case PB_TRACK_EVENT_CONFIG_FILTER_DEBUG_ANNOTATIONS:
		c->filter_debug_annotations = f->u64;
		break;
	case PB_TRACK_EVENT_CONFIG_ENABLE_THREAD_TIME_SAMPLING:
		c->enable_thread_time_sampling = f->u64;
		break;
	case PB_TRACK_EVENT_CONFIG_FILTER_DYNAMIC_EVENT_NAMES:
		c->filter_dynamic_event_names = f->u64;
		break;
	case PB_TRACK_EVENT_CONFIG_THREAD_TIME_SUBSAMPLING_NS:
		c->thread_time_subsampling_ns = f->u64;
		break;
	}
}

static int event_config_read_config(struct event_config *c, const struct pb_field *message)
{
	struct pb_dec d;
	struct pb_field f;
	int r;

	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f)) {
		if (f.wire_type == PB_WIRE_VARINT)
			event_config_read_number(c, &f);
		else if (f.wire_type == PB_WIRE_BYTES && (r = event_config_read_text(c, &f)) < 0)
			return r;
	}
	return pb_dec_ok(&d) ? 0 : -EBADMSG;
}

int event_config_new(const void *data_source_config, size_t len, struct event_config **ret)
{
	struct event_config *c = calloc(1, sizeof(*c));
	struct pb_dec d;
	struct pb_field f;
	int r = 0;

	if (!c)
		return -ENOMEM;
	c->unit_multiplier = 1;
	pb_dec_init(&d, data_source_config, len);
	while (r == 0 && pb_dec_next(&d, &f))
		if (f.id == PB_DATA_SOURCE_CONFIG_TRACK_EVENT_CONFIG &&
		    f.wire_type == PB_WIRE_BYTES)
			r = event_config_read_config(c, &f);
	if (r == 0 && !pb_dec_ok(&d))
		r = -EBADMSG;
	if (r < 0) {
		event_config_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

/* ---- matching ---- */

/* Returns true if a name matches in this pass. The pattern ends at its first '*'. */
static bool pattern_matches(const char *pattern, const char *name, enum pass pass)
{
	size_t prefix = strcspn(pattern, "*");

	if (!pattern[prefix])
		return pass == PASS_EXACT && strcmp(pattern, name) == 0;
	if (prefix == 0)
		return pass == PASS_ALL;
	return pass == PASS_PREFIX && strncmp(pattern, name, prefix) == 0;
}

static bool any_pattern_matches(const struct event_patterns *p, const char *name, enum pass pass)
{
	for (size_t i = 0; i < p->n; i++)
		if (pattern_matches(p->list[i], name, pass))
			return true;
	return false;
}

static bool any_tag_matches(const struct event_patterns *p, const char *const *tags, size_t n_tags,
			    enum pass pass)
{
	for (size_t i = 0; i < n_tags && tags[i]; i++)
		if (any_pattern_matches(p, tags[i], pass))
			return true;
	return false;
}

static bool is_off_by_default(const char *const *tags, size_t n_tags)
{
	for (size_t i = 0; i < n_tags && tags[i]; i++)
		if (strcmp(tags[i], "slow") == 0 || strcmp(tags[i], "debug") == 0)
			return true;
	return false;
}

bool event_config_enables(const struct event_config *c, const char *name, const char *const *tags,
			  size_t n_tags)
{
	for (enum pass pass = 0; pass < PASSES; pass++) {
		if (any_pattern_matches(&c->enabled_categories, name, pass))
			return true;
		if (any_pattern_matches(&c->disabled_categories, name, pass))
			return false;
		if (any_tag_matches(&c->disabled_tags, tags, n_tags, pass))
			return false;
		if (pass == PASS_EXACT && c->disabled_tags.n == 0 && c->enabled_tags.n == 0 &&
		    is_off_by_default(tags, n_tags))
			return false;
		if (any_tag_matches(&c->enabled_tags, tags, n_tags, pass))
			return true;
	}
	return true;
}

static bool enables_part(const struct event_config *c, const char *part)
{
	static const char slow_prefix[] = "disabled-by-default-";
	const char *slow = "slow";
	bool is_slow = strncmp(part, slow_prefix, sizeof(slow_prefix) - 1) == 0;

	return event_config_enables(c, part, &slow, is_slow);
}

bool event_config_enables_dynamic(const struct event_config *c, const char *name)
{
	char part[NAME_MAX_LEN + 1];

	for (;;) {
		size_t n = strcspn(name, ",");
		size_t copied = MIN(n, NAME_MAX_LEN);

		memcpy(part, name, copied);
		part[copied] = 0;
		if (enables_part(c, part))
			return true;
		if (!name[n])
			return false;
		name += n + 1;
	}
}
