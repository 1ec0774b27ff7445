/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/histograms/histogram_spec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "ebpf/engine/features.h"

/* ---- the config ---- */

/* Copies a word of the config. It becomes part of a path and of messages, so it may contain only
 * letters, digits, '_' and more_chars. Returns 0, or -EINVAL and sets e. */
static int copy_word(const char *word, const char *field, const char *more_chars, size_t size,
		     char *ret, struct err_text *e)
{
	static const char chars[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t len = strlen(word);

	for (size_t i = 0; i < len; i++)
		if (!strchr(chars, word[i]) && !strchr(more_chars, word[i]))
			return err_set(e, -EINVAL, "histograms.%s: '%.80s' is not a valid name",
				       field, word);
	if (len >= size)
		return err_set(e, -EINVAL,
			       "histograms.%s: '%.80s' is too long; the limit is %zu characters",
			       field, word, size - 1);
	memcpy(ret, word, len + 1);
	return 0;
}

static int copy_event(const char *word, const char *field, char *ret, struct err_text *e)
{
	const char *slash = strchr(word, '/');

	if (slash && (strchr(slash + 1, '/') || slash == word || !slash[1]))
		return err_set(e, -EINVAL, "histograms.%s: '%.80s' is neither NAME nor GROUP/NAME",
			       field, word);
	return copy_word(word, field, "/-", HISTOGRAM_EVENT, ret, e);
}

static int copy_words(const Pb__EbpfCountersConfig__Histogram *c, struct histogram_spec *s,
		      struct err_text *e)
{
	int r = copy_event(c->event ?: "", "event", s->event, e);

	if (r == 0)
		r = copy_event(c->end_event ?: "", "end_event", s->end_event, e);
	if (r == 0)
		r = copy_word(c->field ?: "", "field", "", sizeof(s->field), s->field, e);
	if (r == 0)
		r = copy_word(c->key ?: "", "key", "", sizeof(s->key), s->key, e);
	if (r == 0 && c->n_match > HIST_MATCHES)
		return err_set(e, -EINVAL, "histograms.match: too many fields; the limit is %d",
			       HIST_MATCHES);
	for (size_t i = 0; i < c->n_match && r == 0; i++)
		r = copy_word(c->match[i], "match", "", sizeof(s->match[i]), s->match[i], e);
	s->n_matches = r == 0 ? (uint32_t)c->n_match : 0;
	return r;
}

static int copy_linear(const Pb__EbpfCountersConfig__Histogram__Linear *l, struct histogram_spec *s,
		       struct err_text *e)
{
	uint64_t width;
	int64_t end;

	if (!l)
		return 0;
	if (!l->step || !l->steps || l->steps > HIST_STEPS_MAX)
		return err_set(e, -EINVAL, "histograms.linear: set step, and steps (1 to %d)",
			       HIST_STEPS_MAX);
	if (__builtin_mul_overflow(l->step, l->steps, &width) ||
	    __builtin_add_overflow(l->min, width, &end))
		return err_set(e, -EINVAL, "histograms.linear: min + step * steps exceeds 2^63");
	s->min = l->min;
	s->step = l->step;
	s->n_steps = l->steps;
	return 0;
}

static void format_histogram_name(const struct histogram_spec *s, char ret[static HISTOGRAM_NAME])
{
	bool is_time = s->end_event[0];
	size_t n, size = HISTOGRAM_NAME;

	/* The words fit. */
	n = (size_t)snprintf(ret, size, "%s%s%s: %s", s->event, is_time ? ".." : "", s->end_event,
			     is_time ? "time" : s->field);
	for (uint32_t i = 0; i < s->n_matches; i++)
		n += (size_t)snprintf(ret + n, size - n, "%s%s", i ? "," : " on ", s->match[i]);
	if (s->key[0])
		n += (size_t)snprintf(ret + n, size - n, " by %s", s->key);
	if (s->n_steps)
		snprintf(ret + n, size - n, " linear %lld..%lld step %llu", (long long)s->min,
			 (long long)((uint64_t)s->min + s->step * s->n_steps),
			 (unsigned long long)s->step);
}

int histogram_spec_read(const Pb__EbpfCountersConfig__Histogram *c, struct histogram_spec *ret,
			struct err_text *e)
{
	struct histogram_spec s = {.max_keys = HISTOGRAM_KEYS};
	int r = copy_words(c, &s, e);

	if (r == 0)
		r = copy_linear(c->linear, &s, e);
	if (r < 0)
		return r;
	if (!s.event[0])
		return err_set(e, -EINVAL, "histograms.event is missing");
	if (!s.field[0] == !s.end_event[0])
		return err_set(e, -EINVAL, "histograms: set either field or end_event");
	if (s.n_matches && !s.end_event[0])
		return err_set(e, -EINVAL, "histograms.match requires end_event");
	if (c->max_keys)
		s.max_keys = MIN(c->max_keys, HISTOGRAM_KEYS_MAX);
	*ret = s;
	format_histogram_name(&s, ret->name);
	return 0;
}

/* ---- the fields of a record ---- */

/* Returns true if the kernel prints the field as a pointer: "(void *)REC->call_site". */
static bool is_printed_as_address(const char *format, const char *name)
{
	char cast[2][HISTOGRAM_WORD + 16];
	size_t len;

	snprintf(cast[0], sizeof(cast[0]), "(void *)REC->%s", name);
	snprintf(cast[1], sizeof(cast[1]), "(void *)(REC->%s", name);
	for (size_t i = 0; i < ARRAY_SIZE(cast); i++) {
		len = strlen(cast[i]);
		for (const char *p = strstr(format, cast[i]); p; p = strstr(p + 1, cast[i]))
			if (!strchr("abcdefghijklmnopqrstuvwxyz_0123456789", p[len]) || !p[len])
				return true;
	}
	return false;
}

/* Parses a line of a format file: "\tfield:char rwbs[8];\toffset:28;\tsize:8;\tsigned:0;". Returns
 * false if it is about another field. */
static bool parse_declaration(const char *line, size_t len, const char *name,
			      struct record_field *ret)
{
	char text[512];
	struct record_field f = {0};
	char *declaration, *end, *word, *array;
	uint16_t offset, size, is_signed = 0;

	if (len >= sizeof(text))
		return false;
	memcpy(text, line, len);
	text[len] = '\0';
	declaration = strstr(text, "field:");
	end = declaration ? strchr(declaration, ';') : NULL;
	if (!end || !ebpf_format_line_number(end, "\toffset:", &offset) ||
	    !ebpf_format_line_number(end, "\tsize:", &size))
		return false;
	(void)ebpf_format_line_number(end, "\tsigned:", &is_signed);
	f.offset = offset;
	f.size = size;
	*end = '\0';
	declaration += strlen("field:");
	array = strchr(declaration, '[');
	/* "__data_loc char[] name" has the brackets before the name. */
	if (array && array[1] != ']')
		*array = '\0';
	word = strrchr(declaration, ' ');
	if (!word || strcmp(word + 1, name) != 0)
		return false;
	*word = '\0';
	f.is_signed = is_signed;
	f.is_address = strchr(declaration, '*');
	f.is_text = array && !strcmp(declaration, "char");
	f.is_other = (array && !f.is_text) || str_starts(declaration, "__data_loc") ||
		     str_starts(declaration, "__rel_loc");
	*ret = f;
	return true;
}

int record_field_find(const char *format, const char *name, struct record_field *ret)
{
	for (const char *line = format, *end; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (!parse_declaration(line, (size_t)(end - line), name, ret))
			continue;
		ret->is_address |= is_printed_as_address(format, name);
		return 0;
	}
	return -ENOENT;
}

/* Finds a field. Refuses addresses, and the common fields, which are not in the records that
 * programs get. Returns 0, or -errno and sets e. */
static int find_event_field(const char *event, const char *format, const char *name,
			    struct record_field *ret, struct err_text *e)
{
	if (str_starts(name, "common_"))
		return err_set(e, -EINVAL, "%s: BPF programs cannot read the field '%s'", event,
			       name);
	if (record_field_find(format, name, ret) < 0)
		return err_set(e, -ENOENT, "%s has no field '%s'", event, name);
	if (ret->is_address)
		return err_set(e, -EPERM, "%s.%s is an address, and addresses are not recorded",
			       event, name);
	return 0;
}

static int find_number_field(const char *event, const char *format, const char *name,
			     struct hist_field *ret, struct err_text *e)
{
	struct record_field f;
	int r = find_event_field(event, format, name, &f, e);

	if (r < 0)
		return r;
	if (f.is_text || f.is_other || (f.size != 1 && f.size != 2 && f.size != 4 && f.size != 8))
		return err_set(e, -EINVAL, "%s.%s is not a number", event, name);
	*ret = (struct hist_field){
		.offset = (__u16)f.offset, .size = (__u8)f.size, .is_signed = f.is_signed};
	return 0;
}

static int find_key_field(const struct histogram_spec *s, const char *format,
			  struct hist_settings *h, struct err_text *e)
{
	static const char *const words[] = {
		[HIST_BY_NOTHING] = "", [HIST_BY_COMM] = "comm",     [HIST_BY_PID] = "pid",
		[HIST_BY_TID] = "tid",	[HIST_BY_CGROUP] = "cgroup", [HIST_BY_CPU] = "cpu",
	};
	struct record_field f;
	int r;

	for (uint32_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i], s->key)) {
			h->key_kind = i;
			return 0;
		}
	r = find_event_field(s->event, format, s->key, &f, e);
	if (r < 0)
		return r;
	h->key_kind = f.is_text ? HIST_BY_TEXT : HIST_BY_NUMBER;
	if (!f.is_text)
		return find_number_field(s->event, format, s->key, &h->key, e);
	h->key.offset = (__u16)f.offset;
	h->key.size = (__u8)MIN(f.size, (uint32_t)HIST_KEY_SIZE);
	return 0;
}

/* Appends the format of an event, whose name becomes "group/name". */
static int read_format(const struct ebpf_features *f, char event[HISTOGRAM_EVENT],
		       struct strbuf *format, struct err_text *e)
{
	char found[HISTOGRAM_EVENT];
	int r = f->find_event(f->ctx, event, found, sizeof(found));

	if (r == 0)
		r = f->read_format(f->ctx, found, format);
	if (r < 0)
		return err_set(e, r, "the kernel has no event %s", event);
	memcpy(event, found, sizeof(found));
	return 0;
}

static int find_match_fields(const struct histogram_spec *s, const char *begin, const char *end,
			     struct hist_settings *h, struct err_text *e)
{
	int r = 0;

	for (uint32_t i = 0; i < s->n_matches && r == 0; i++) {
		r = find_number_field(s->event, begin, s->match[i], &h->begin[i], e);
		if (r == 0)
			r = find_number_field(s->end_event, end, s->match[i], &h->end[i], e);
	}
	h->n_matches = s->n_matches;
	return r;
}

int histogram_spec_find_fields(struct histogram_spec *s, const struct ebpf_features *f,
			       struct hist_settings *ret, struct err_text *e)
{
	struct hist_settings h = {.min = s->min, .step = s->step, .n_steps = s->n_steps};
	_cleanup_(strbuf_deinit) struct strbuf format = {0}, end_format = {0};
	int r = read_format(f, s->event, &format, e);

	if (r == 0 && s->end_event[0])
		r = read_format(f, s->end_event, &end_format, e);
	if (r == 0 && s->end_event[0])
		r = find_match_fields(s, format.s, end_format.s, &h, e);
	else if (r == 0)
		r = find_number_field(s->event, format.s, s->field, &h.value, e);
	if (r == 0)
		r = find_key_field(s, format.s, &h, e);
	if (r == 0)
		*ret = h;
	return r;
}
