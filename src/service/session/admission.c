/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/admission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/priority_boost.h"
#include "config/limits.h"
#include "config/trace_config.h"
#include "service/session/session_state.h"

#define MAX_RECENT 64 /* the newest are kept */

struct recent_sessions {
	size_t n;
	struct {
		uid_t uid;
		char *name; /* owned; "" for sessions without one */
		uint64_t boot_ns; /* start, CLOCK_BOOTTIME */
	} list[MAX_RECENT]; /* the oldest first */
};

static const char *admission_name_of(const Pb__TraceConfig *config)
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

static void remove_oldest_session(struct recent_sessions *r)
{
	free(r->list[0].name);
	memmove(&r->list[0], &r->list[1], --r->n * sizeof(r->list[0]));
}

static bool session_began_recently(const struct recent_sessions *r, uid_t uid, const char *name)
{
	uint64_t now = clock_boot_ns();

	for (size_t i = 0; r && i < r->n; i++)
		if (r->list[i].uid == uid &&
		    now - r->list[i].boot_ns < GUARDRAIL_RESTART_S * NS_PER_S &&
		    !strcmp(r->list[i].name, name))
			return true;
	return false;
}

void admission_record_session(struct sessions *s, const Pb__TraceConfig *config, uid_t uid)
{
	char *name;

	if (!config->enable_extra_guardrails)
		return;
	if (!s->recent)
		s->recent = calloc(1, sizeof(*s->recent));
	name = strdup(admission_name_of(config));
	if (!s->recent || !name) {
		free(name);
		return;
	}
	if (s->recent->n == MAX_RECENT)
		remove_oldest_session(s->recent);
	s->recent->list[s->recent->n].uid = uid;
	s->recent->list[s->recent->n].name = name;
	s->recent->list[s->recent->n++].boot_ns = clock_boot_ns();
}

/* ---- the check ---- */

static int check_unique_name(const struct sessions *s, const char *name, uid_t uid,
			     struct err_text *e)
{
	const struct session *other;

	if (!name[0])
		return 0;
	TAILQ_FOREACH (other, &s->list, link)
		if (other->uid == uid && other->state != SESSION_CLONED &&
		    !strcmp(admission_name_of(other->config), name))
			return err_set(e, -EBUSY,
				       "a session with unique_session_name \"%s\" already exists",
				       name);
	return 0;
}

static int check_session_count(struct sessions *s, uid_t uid, struct err_text *e)
{
	struct quota_account account;

	quota_open(&account, s->quota, uid);
	return quota_check(&account, QUOTA_SESSIONS, 1, e);
}

/* ---- what needs root ---- */

/* A priority takes CPU time from all programs of the machine, and a lockdown shuts producers out of
 * the sessions of all users. Priority 0 is no boost, so it needs no rights. Returns 0, or -EPERM
 * and sets e. */
static int check_rights(const struct sessions *s, const Pb__TraceConfig *config, uid_t uid,
			struct err_text *e)
{
	static const struct priority_boost least = {PRIORITY_BOOST_OTHER, 0};
	struct priority_boost boost = least;

	if (quota_is_root(s->quota, uid))
		return 0;
	if (config->priority_boost)
		(void)priority_boost_read(config->priority_boost, &boost); /* was checked */
	if (priority_boost_is_stronger(boost, least))
		return err_set(e, -EPERM, "priority_boost needs root");
	if (config->lockdown_mode != PB__TRACE_CONFIG__LOCKDOWN_MODE_OPERATION__LOCKDOWN_UNCHANGED)
		return err_set(
			e, -EPERM,
			"lockdown_mode affects the producers of all users; only root may set it");
	return 0;
}

/* ---- exclusive_prio ---- */

/* Returns 0, or -EPERM or -EBUSY and sets e: only root may set exclusive_prio, and a session must
 * have a higher one than all that run, if one of them has any. */
static int check_exclusive(const struct sessions *s, const Pb__TraceConfig *config, uid_t uid,
			   struct err_text *e)
{
	const struct session *other;
	uint32_t highest = 0;

	if (config->exclusive_prio && uid != 0)
		return err_set(e, -EPERM,
			       "exclusive_prio ends the sessions of all users and needs root");
	TAILQ_FOREACH (other, &s->list, link)
		if (other->state != SESSION_CLONED)
			highest = MAX(highest, other->config->exclusive_prio);
	if (highest > 0 && highest >= config->exclusive_prio)
		return err_set(e, -EBUSY,
			       "a session with exclusive_prio %u is running; this one has %u",
			       highest, config->exclusive_prio);
	return 0;
}

void admission_stop_others(struct sessions *s, const Pb__TraceConfig *config)
{
	struct session *other, *next;
	struct err_text why;

	if (!config->exclusive_prio)
		return;
	err_set(&why, 0, "Aborted due to user requested higher-priority (%u) exclusive session.",
		config->exclusive_prio);
	for (other = TAILQ_FIRST(&s->list); other; other = next) {
		next = TAILQ_NEXT(other, link);
		if (other->state == SESSION_CLONED)
			continue;
		if (!session_is_detached(other)) {
			other->owner.ops->abort(other->owner.ctx, why.text);
			continue;
		}
		session_set_error(other, why.text);
		/* A detached session is freed when all data is in its file. */
		if (session_writes_file(other))
			session_disable(other, true);
		else
			session_free(other);
	}
}

/* ---- session_semaphores ---- */

typedef Pb__TraceConfig__SessionSemaphore semaphore;

static const char *semaphore_name(const semaphore *m)
{
	return m->name ? m->name : "";
}

static const semaphore *find_semaphore(const struct session *s, const char *name)
{
	for (size_t i = 0; i < s->config->n_session_semaphores; i++)
		if (!strcmp(semaphore_name(s->config->session_semaphores[i]), name))
			return s->config->session_semaphores[i];
	return NULL;
}

/* The smallest max_other_session_count of all sessions of the user with this semaphore, the new one
 * included, is the limit. Returns 0, or -EBUSY and sets e. */
static int check_semaphore(const struct sessions *s, const semaphore *m, uid_t uid,
			   struct err_text *e)
{
	uint64_t others = 0, max = m->max_other_session_count;
	const struct session *other;

	TAILQ_FOREACH (other, &s->list, link) {
		const semaphore *theirs = find_semaphore(other, semaphore_name(m));

		if (!theirs || other->uid != uid || other->state == SESSION_CLONED ||
		    other->state == SESSION_DISABLED)
			continue;
		others++;
		max = MIN(max, theirs->max_other_session_count);
	}
	if (others > max)
		return err_set(e, -EBUSY,
			       "semaphore \"%s\": %llu other sessions hold it; the limit is %llu",
			       semaphore_name(m), (unsigned long long)others,
			       (unsigned long long)max);
	return 0;
}

static int check_semaphores(const struct sessions *s, const Pb__TraceConfig *config, uid_t uid,
			    struct err_text *e)
{
	int r = 0;

	for (size_t i = 0; i < config->n_session_semaphores && r == 0; i++)
		r = check_semaphore(s, config->session_semaphores[i], uid, e);
	return r;
}

/* ---- all checks ---- */

int admission_check(struct sessions *s, const Pb__TraceConfig *config, uid_t uid,
		    struct err_text *e)
{
	bool alone = config->exclusive_prio > 0; /* the other sessions are stopped */
	int r = check_rights(s, config, uid, e);

	if (r == 0)
		r = check_exclusive(s, config, uid, e);
	if (r == 0 && !alone)
		r = check_unique_name(s, admission_name_of(config), uid, e);
	if (r == 0 && !alone)
		r = check_semaphores(s, config, uid, e);
	if (r < 0)
		return r;
	if (config->enable_extra_guardrails &&
	    session_began_recently(s->recent, uid, admission_name_of(config)))
		return err_set(e, -EBUSY,
			       "guardrail: a session with unique_session_name \"%s\" started less "
			       "than %d s ago",
			       admission_name_of(config), GUARDRAIL_RESTART_S);
	return alone ? 0 : check_session_count(s, uid, e);
}
