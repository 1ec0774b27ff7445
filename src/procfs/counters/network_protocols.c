/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/counters/network_protocols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

/* All others only grow. */
static const char *const levels[] = {"CurrEstab", "MaxConn",	"RtoAlgorithm", "RtoMin",
				     "RtoMax",	  "Forwarding", "DefaultTTL",	"ReasmTimeout"};

static bool decide(void *ctx, const char *shown, struct track_spec *ret_spec)
{
	const struct network_protocol *p = ctx;
	char full[NETWORK_PROTOCOL_SIZE + COUNTER_KEY_SIZE];

	snprintf(full, sizeof(full), "%s %s", p->name, shown);
	if (!counter_patterns_match(p->counters, full))
		return false;
	*ret_spec = (struct track_spec){
		.unit = str_ends(shown, "Octets") ? TRACK_UNIT_BYTES : TRACK_UNIT_COUNT,
		.total = true,
	};
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		ret_spec->total &= strcmp(shown, levels[i]) != 0;
	return true;
}

static struct network_protocol *add(struct network_protocols *ps, struct span name)
{
	struct network_protocol *p;

	if (ps->n >= NETWORK_PROTOCOLS_MAX || name.len >= sizeof(p->name) || name.len == 0 ||
	    memchr(name.p, '\0', name.len))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	memcpy(p->name, name.p, name.len);
	p->counters = ps->counters;
	p->keys = (struct counter_keys){.decide = decide, .ctx = p};
	p->track = tracks_add(
		ps->poll->tracks,
		&(struct track_spec){.kind = TRACK_GROUP, .parent = ps->group, .name = p->name});
	ps->all[ps->n++] = p;
	return p;
}

static struct network_protocol *find(struct network_protocols *ps, struct span name)
{
	for (unsigned i = 0; i < ps->n; i++)
		if (span_is(name, ps->all[i]->name))
			return ps->all[i];
	return add(ps, name);
}

void network_protocols_deinit(struct network_protocols *ps)
{
	for (unsigned i = 0; i < ps->n; i++) {
		counter_keys_deinit(&ps->all[i]->keys);
		counter_tracks_deinit(&ps->all[i]->tracks);
		free(ps->all[i]);
	}
	ps->n = 0;
}

struct reading {
	struct tracks *t;
	struct network_protocol *p;
};

static void on_number(void *ctx, struct span name, const struct counter_number *v)
{
	const struct reading *r = ctx;

	counter_number_set(
		r->t, counter_keys_track(&r->p->keys, &r->p->tracks, r->t, r->p->track, name), v);
}

int network_protocols_read(struct network_protocols *ps, struct span text)
{
	struct reading r = {.t = ps->poll->tracks};
	struct network_pair pair;
	bool good = true, any = false;

	while (network_pair_next(&text, &pair)) {
		any = true;
		r.p = find(ps, pair.protocol);
		good &= r.p && network_pair_parse(pair, on_number, &r) == 0;
	}
	return good && any ? 0 : -EBADMSG;
}

int network_protocols_read_snmp6(struct network_protocols *ps, struct span text)
{
	struct reading r = {.t = ps->poll->tracks};
	struct span line, protocol, name;
	bool good = true, any = false;
	struct counter_number v;

	while (span_next_line(&text, &line)) {
		any = true;
		r.p = network_snmp6_parse(line, &protocol, &name, &v) == 0 ? find(ps, protocol)
									   : NULL;
		if (r.p)
			on_number(&r, name, &v);
		good &= r.p != NULL;
	}
	return good && any ? 0 : -EBADMSG;
}
