/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/counters/counter_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

void counter_keys_deinit(struct counter_keys *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->all[i].shown);
	free(k->all);
	k->all = NULL;
	k->n = k->cap = 0;
}

void counter_tracks_deinit(struct counter_tracks *x)
{
	free(x->all);
	*x = (struct counter_tracks){0};
}

/* "PREFIX NAME", or the one of the two that there is. */
static char *shown_name(const char *prefix, struct span name)
{
	char *s;

	if (!prefix)
		return strndup(name.p, name.len);
	if (name.len == 0)
		return strdup(prefix);
	return asprintf(&s, "%s %.*s", prefix, (int)name.len, name.p) < 0 ? NULL : s;
}

static struct counter_key *add_key(struct counter_keys *k, struct span name)
{
	_cleanup_(freep) char *shown = NULL;
	struct counter_key *key;

	if (k->n >= COUNTER_KEYS_MAX || name.len >= COUNTER_KEY_SIZE ||
	    memchr(name.p, '\0', name.len))
		return NULL;
	shown = shown_name(k->prefix, name);
	if (!shown || array_reserve(&k->all, &k->cap, k->n + 1, sizeof(*k->all)) < 0)
		return NULL;
	key = &k->all[k->n++];
	*key = (struct counter_key){.name = shown + strlen(shown) - name.len};
	key->wanted = k->decide(k->ctx, shown, &key->spec);
	key->shown = TAKE_PTR(shown);
	return key;
}

static struct counter_key *find_key(struct counter_keys *k, struct span name)
{
	struct counter_key *key = NULL;

	for (size_t i = 0; i < k->n && !key; i++, k->next++) {
		if (k->next >= k->n)
			k->next = 0;
		if (span_is(name, k->all[k->next].name))
			key = &k->all[k->next];
	}
	return key ? key : add_key(k, name);
}

static bool reserve(struct counter_tracks *x, size_t n)
{
	if (array_reserve(&x->all, &x->cap, n, sizeof(*x->all)) < 0)
		return false;
	for (; x->n < n; x->n++)
		x->all[x->n] = TRACK_ROOT;
	return true;
}

uint32_t counter_keys_track(struct counter_keys *k, struct counter_tracks *x, struct tracks *t,
			    uint32_t group, struct span name)
{
	struct counter_key *key = find_key(k, name);
	struct track_spec spec;
	size_t i;

	if (!key || !key->wanted)
		return TRACK_VOID;
	i = (size_t)(key - k->all);
	if (i >= x->n && !reserve(x, i + 1))
		return TRACK_VOID;
	if (x->all[i] == TRACK_ROOT) {
		spec = key->spec;
		spec.kind = TRACK_COUNTER;
		spec.parent = group;
		spec.name = key->shown;
		x->all[i] = tracks_add(t, &spec);
	}
	return x->all[i];
}
