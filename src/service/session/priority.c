/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/priority.h"

#include <string.h>

#include "base/system/log.h"
#include "config/trace_config.h"
#include "service/session/session_state.h"

struct priority_boost priority_of(const struct sessions *s, const Pb__TraceConfig *config)
{
	struct priority_boost b = {s->is_timely ? PRIORITY_BOOST_BUDGETED : PRIORITY_BOOST_NONE, 0};

	if (config->priority_boost)
		(void)priority_boost_read(config->priority_boost, &b); /* was checked */
	return b;
}

static struct priority_boost stronger(struct priority_boost a, struct priority_boost b)
{
	return priority_boost_is_stronger(b, a) ? b : a;
}

static struct priority_boost strongest(const struct sessions *s, const Pb__TraceConfig *also)
{
	struct priority_boost b = {PRIORITY_BOOST_NONE, 0};
	const struct session *session;

	if (also)
		b = stronger(b, priority_of(s, also));
	TAILQ_FOREACH (session, &s->list, link)
		if (session->state != SESSION_CLONED)
			b = stronger(b, session->boost);
	return b;
}

int priority_apply(struct sessions *s, const Pb__TraceConfig *also)
{
	struct priority_boost b = strongest(s, also);
	int r = priority_boost_apply(&s->boost, b);
	struct session *session;

	if (r == 0 || b.policy != PRIORITY_BOOST_BUDGETED)
		return r;
	/* No config requests this priority, so the sessions go on without it. On a busy machine
	 * more data is lost then, which the summary reports. */
	log_info("cannot raise the priority while sessions record: %s (docs/security.md)",
		 strerror(-r));
	s->is_timely = false;
	TAILQ_FOREACH (session, &s->list, link)
		session->boost = priority_of(s, session->config);
	return priority_apply(s, also);
}
