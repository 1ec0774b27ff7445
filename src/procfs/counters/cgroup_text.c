/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/counters/cgroup_text.h"

#include <errno.h>
#include <string.h>

#include "procfs/counters/counter_files.h"

/* The names "NAME KEY" of the pairs of a line: NAME stays, KEY changes. */
struct line_name {
	char s[COUNTER_KEY_SIZE];
	size_t len; /* with the blank */
};

static bool line_name_init(struct line_name *n, struct span word)
{
	if (word.len + 1 >= sizeof(n->s))
		return false;
	memcpy(n->s, word.p, word.len);
	n->s[word.len] = ' ';
	n->len = word.len + 1;
	return true;
}

static bool line_name_join(struct line_name *n, struct span key, struct span *ret)
{
	if (key.len >= sizeof(n->s) - n->len)
		return false;
	memcpy(n->s + n->len, key.p, key.len);
	*ret = (struct span){n->s, n->len + key.len};
	return true;
}

/* Parses "key=value"; returns false if it is invalid. Skips "max". */
static bool cgroup_text_parse_pair(struct line_name *n, struct span word, counter_number_fn fn,
				   void *ctx)
{
	const char *eq = memchr(word.p, '=', word.len);
	struct span key, value, name;
	struct counter_number v;

	if (!eq)
		return false;
	key = (struct span){word.p, (size_t)(eq - word.p)};
	value = (struct span){eq + 1, word.len - key.len - 1};
	if (key.len == 0 || value.len == 0)
		return false;
	if (span_is(value, "max"))
		return true;
	if (!counter_number_parse(value, &v) || !line_name_join(n, key, &name))
		return false;
	fn(ctx, name, &v);
	return true;
}

static bool cgroup_text_parse_pairs(struct span first, struct span word, struct span rest,
				    counter_number_fn fn, void *ctx)
{
	struct line_name n;
	bool good = line_name_init(&n, first);

	do
		good = good && cgroup_text_parse_pair(&n, word, fn, ctx);
	while (span_next_word(&rest, &word));
	return good;
}

static bool cgroup_text_parse_line(struct span line, counter_number_fn fn, void *ctx)
{
	struct counter_number v;
	struct span first, word;

	if (!span_next_word(&line, &first))
		return true;
	if (!span_next_word(&line, &word)) {
		if (counter_number_parse(first, &v))
			fn(ctx, (struct span){first.p, 0}, &v);
		return true;
	}
	if (memchr(word.p, '=', word.len))
		return cgroup_text_parse_pairs(first, word, line, fn, ctx);
	if (span_is(word, "max"))
		return true;
	if (!counter_number_parse(word, &v) || span_next_word(&line, &word))
		return false;
	fn(ctx, first, &v);
	return true;
}

int cgroup_text_parse(struct span text, counter_number_fn fn, void *ctx)
{
	struct span line;
	bool good = true;

	while (span_next_line(&text, &line))
		good &= cgroup_text_parse_line(line, fn, ctx);
	return good ? 0 : -EBADMSG;
}
