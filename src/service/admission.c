/* SPDX-License-Identifier: Apache-2.0 */
#include "service/admission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "config/limits.h"
#include "service/service.h"
#include "service/session.h"

#define MAX_RECENT 64 /* then the oldest is forgotten */

struct recent_sessions {
	size_t n;
	struct {
		char *name; /* owned; "" for sessions without one */
		uint64_t boot_ns; /* when it began */
	} list[MAX_RECENT]; /* the oldest first */
};

static const char *name_of(const Pb__TraceConfig *config)
{
	return config->unique_session_name ? config->unique_session_name : "";
}

/* ---- recent sessions ---- */

struct recent_sessions *recent_sessions_free(struct recent_sessions *r)
{
	for (size_t i = 0; r && i < r->n; i++)
		free(r->list[i].name);
	free(r);
	return NULL;
}

static void forget_oldest(struct recent_sessions *r)
{
	free(r->list[0].name);
	memmove(&r->list[0], &r->list[1], --r->n * sizeof(r->list[0]));
}

static bool began_recently(const struct recent_sessions *r, const char *name)
{
	uint64_t now = clock_boot_ns();

	for (size_t i = 0; r && i < r->n; i++)
		if (now - r->list[i].boot_ns < GUARDRAIL_RESTART_S * NS_PER_S &&
		    !strcmp(r->list[i].name, name))
			return true;
	return false;
}

void admission_remember(struct service *s, const Pb__TraceConfig *config)
{
	char *name;

	if (!s->recent)
		s->recent = calloc(1, sizeof(*s->recent));
	name = strdup(name_of(config));
	if (!s->recent || !name) {
		free(name);
		return;
	}
	if (s->recent->n == MAX_RECENT)
		forget_oldest(s->recent);
	s->recent->list[s->recent->n].name = name;
	s->recent->list[s->recent->n++].boot_ns = clock_boot_ns();
}

/* ---- the check ---- */

static int check_unique_name(const struct service *s, const char *name, struct err_text *e)
{
	const struct session *other;

	if (!name[0])
		return 0;
	TAILQ_FOREACH (other, &s->sessions, link)
		if (other->state != SESSION_CLONED && !strcmp(name_of(other->config), name))
			return err_set(e, -EBUSY,
				       "a session with unique_session_name \"%s\" exists already",
				       name);
	return 0;
}

static int check_counts(const struct service *s, uid_t uid, struct err_text *e)
{
	const struct session *other;
	unsigned n = 0, n_uid = 0;

	TAILQ_FOREACH (other, &s->sessions, link) {
		n++;
		n_uid += other->uid == uid;
	}
	if (n_uid >= LIMIT_SESSIONS_PER_UID)
		return err_set(e, -EBUSY,
			       "uid %u has %u tracing sessions already; that is the limit",
			       (unsigned)uid, n_uid);
	if (n >= LIMIT_SESSIONS)
		return err_set(e, -EBUSY,
			       "there are %u tracing sessions already; that is the limit", n);
	return 0;
}

int admission_check(const struct service *s, const Pb__TraceConfig *config, uid_t uid,
		    struct err_text *e)
{
	int r = check_unique_name(s, name_of(config), e);

	if (r < 0)
		return r;
	if (config->enable_extra_guardrails && began_recently(s->recent, name_of(config)))
		return err_set(e, -EBUSY,
			       "guardrail: a session with unique_session_name \"%s\" began less "
			       "than %d s ago",
			       name_of(config), GUARDRAIL_RESTART_S);
	return check_counts(s, uid, e);
}
