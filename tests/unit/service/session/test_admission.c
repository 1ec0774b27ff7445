/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>

#include "config/limits.h"
#include "service/session/admission.h"
#include "service/session/session_state.h"
#include "unit/service/rig.h"
#include "unit/test.h"

static struct err_text e;

static int setup(void **state)
{
	struct rig *r = malloc(sizeof(*r));

	assert_non_null(r);
	rig_init(r);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	rig_deinit(*state);
	free(*state);
	return 0;
}

static int admit(struct rig *r, const char *text, uid_t uid)
{
	Pb__TraceConfig *c = peer_parse_config(text);
	int error;

	e.text[0] = '\0';
	error = admission_check(r->sessions, c, uid, &e);
	pb__trace_config__free_unpacked(c, NULL);
	return error;
}

static void remember(struct rig *r, const char *text)
{
	Pb__TraceConfig *c = peer_parse_config(text);

	admission_record_session(r->sessions, c, 1);
	pb__trace_config__free_unpacked(c, NULL);
}

/* A session that is there already, of another consumer. */
static struct peer *other_session(struct rig *r, const char *text)
{
	struct peer *p = rig_consumer(r);

	peer_enable(p, text);
	assert_true(peer_is_quiet(p));
	return p;
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct rig *r)

FIXTURE_TEST(sessions_of_a_user_are_counted)
{
	struct peer *p[LIMIT_SESSIONS_PER_UID];

	for (int i = 0; i < LIMIT_SESSIONS_PER_UID; i++) {
		assert_int_equal(admit(r, "", getuid()), 0);
		p[i] = other_session(r, "buffers { size_kb: 4 }");
	}
	assert_int_equal(admit(r, "", getuid()), -EDQUOT);
	assert_non_null(strstr(e.text, "5"));
	assert_int_equal(admit(r, "", getuid() + 1), 0);
	rig_hang_up(r, p[0]);
	assert_int_equal(admit(r, "", getuid()), 0);
	for (int i = 1; i < LIMIT_SESSIONS_PER_UID; i++)
		rig_hang_up(r, p[i]);
}

FIXTURE_TEST(sessions_of_all_are_counted)
{
	struct quota_account a[LIMIT_SESSIONS];

	for (int i = 0; i < LIMIT_SESSIONS; i++) {
		assert_int_equal(admit(r, "", 99), 0);
		quota_open(&a[i], r->quota, 1000000u + (uint64_t)i);
		quota_charge_unchecked(&a[i], QUOTA_SESSIONS, 1);
	}
	assert_int_equal(admit(r, "", 99), -EDQUOT);
	assert_non_null(strstr(e.text, "15"));
	for (int i = 0; i < LIMIT_SESSIONS; i++)
		quota_close(&a[i]);
}

FIXTURE_TEST(unique_name_is_unique_in_any_state)
{
	struct peer *p = other_session(r, "unique_session_name: 'one' buffers { size_kb: 4 }");

	assert_int_equal(admit(r, "unique_session_name: 'one'", getuid()), -EBUSY);
	assert_non_null(strstr(e.text, "one"));
	assert_int_equal(admit(r, "unique_session_name: 'two'", getuid()), 0);
	assert_int_equal(admit(r, "unique_session_name: ''", getuid()), 0);
	session_disable(rig_session(r), true);
	assert_int_equal(admit(r, "unique_session_name: 'one'", getuid()), -EBUSY);
	rig_hang_up(r, p);
	assert_int_equal(admit(r, "unique_session_name: 'one'", getuid()), 0);
}

FIXTURE_TEST(guardrail_keeps_sessions_apart_in_time)
{
	remember(r, "unique_session_name: 'again'");
	assert_int_equal(admit(r, "unique_session_name: 'again' enable_extra_guardrails: true", 1),
			 0); /* that one did without */
	remember(r, "unique_session_name: 'again' enable_extra_guardrails: true");
	assert_int_equal(admit(r, "unique_session_name: 'again'", 1), 0);
	assert_int_equal(admit(r, "unique_session_name: 'again' enable_extra_guardrails: true", 1),
			 -EBUSY);
	assert_non_null(strstr(e.text, "300 s"));
	assert_int_equal(admit(r, "unique_session_name: 'x' enable_extra_guardrails: true", 1), 0);
	assert_int_equal(admit(r, "enable_extra_guardrails: true", 1), 0);
	remember(r, "enable_extra_guardrails: true");
	assert_int_equal(admit(r, "enable_extra_guardrails: true", 1), -EBUSY);
}

/* What admit() gives so many seconds later, in a child whose clock is ahead; skips where that is
 * not to be had. */
static int admit_later(struct rig *r, const char *text, unsigned seconds)
{
	char offset[32];
	int status, fd, len;
	ssize_t written;
	pid_t pid;

	if (unshare(CLONE_NEWTIME) < 0)
		skip();
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	len = snprintf(offset, sizeof(offset), "boottime %u 0", seconds);
	written = write(fd, offset, (size_t)len);
	close(fd);
	if (written != len)
		skip();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(-admit(r, text, 1));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

FIXTURE_TEST(guardrail_ends_with_its_time)
{
	static const char config[] = "unique_session_name: 'x' enable_extra_guardrails: true";

	remember(r, config);
	assert_int_equal(admit_later(r, config, 200), -EBUSY);
	assert_int_equal(admit_later(r, config, 301), 0);
}

FIXTURE_TEST(only_so_many_are_remembered)
{
	char text[96];

	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text),
			 "unique_session_name: 'n%d' enable_extra_guardrails: true", i);
		remember(r, text);
	}
	assert_int_equal(admit(r, "unique_session_name: 'n0' enable_extra_guardrails: true", 1), 0);
	assert_int_equal(admit(r, "unique_session_name: 'n999' enable_extra_guardrails: true", 1),
			 -EBUSY);
}

/* ---- semaphores ---- */

#define SEMAPHORE(name, max)                                                                       \
	"session_semaphores { name: '" name "' max_other_session_count: " max " } "

FIXTURE_TEST(strictest_semaphore_holds)
{
	struct peer *p[2];

	p[0] = other_session(r, SEMAPHORE("a", "2") "buffers { size_kb: 4 }");
	assert_int_equal(admit(r, SEMAPHORE("a", "1"), getuid()), 0);
	assert_int_equal(admit(r, SEMAPHORE("a", "0"), getuid()), -EBUSY);
	assert_non_null(strstr(e.text, "\"a\""));
	assert_int_equal(admit(r, SEMAPHORE("b", "0"), getuid()), 0);
	assert_int_equal(admit(r, SEMAPHORE("b", "0") SEMAPHORE("a", "0"), getuid()), -EBUSY);
	p[1] = other_session(r, SEMAPHORE("a", "1") "buffers { size_kb: 4 }");
	assert_int_equal(admit(r, SEMAPHORE("a", "9"), getuid()), -EBUSY); /* theirs allows one */
	assert_int_equal(admit(r, "", getuid()), 0);
	session_disable(rig_session(r), true);
	assert_int_equal(admit(r, SEMAPHORE("a", "9"), getuid()), 0); /* it runs no more */
	rig_hang_up(r, p[0]);
	rig_hang_up(r, p[1]);
}

/* ---- rights ---- */

FIXTURE_TEST(each_user_has_names_of_its_own)
{
	struct peer *p = other_session(
		r, "unique_session_name: 'one' " SEMAPHORE("a", "0") "buffers { size_kb: 4 }");
	uid_t other = getuid() + 1;

	assert_int_equal(admit(r, "unique_session_name: 'one'", getuid()), -EBUSY);
	assert_int_equal(admit(r, "unique_session_name: 'one'", other), 0);
	assert_int_equal(admit(r, SEMAPHORE("a", "0"), getuid()), -EBUSY);
	assert_int_equal(admit(r, SEMAPHORE("a", "0"), other), 0);
	remember(r, "unique_session_name: 'x' enable_extra_guardrails: true");
	assert_int_equal(admit(r, "unique_session_name: 'x' enable_extra_guardrails: true", 1),
			 -EBUSY);
	assert_int_equal(admit(r, "unique_session_name: 'x' enable_extra_guardrails: true", 2), 0);
	rig_hang_up(r, p);
}

/* Each user may request less than the usual priority. */
FIXTURE_TEST(priority_lockdown_and_exclusive_sessions_need_root)
{
	static const struct {
		const char *config, *field; /* field: NULL for what every user may request */
	} cases[] = {
		{"priority_boost { policy: POLICY_SCHED_FIFO priority: 1 }", "priority_boost"},
		{"priority_boost { policy: POLICY_SCHED_OTHER priority: 1 }", "priority_boost"},
		{"priority_boost { policy: POLICY_SCHED_OTHER }", NULL},
		{"lockdown_mode: LOCKDOWN_SET", "lockdown_mode"},
		{"lockdown_mode: LOCKDOWN_CLEAR", "lockdown_mode"},
		{"lockdown_mode: LOCKDOWN_UNCHANGED", NULL},
		{"exclusive_prio: 1", "exclusive_prio"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(admit(r, cases[i].config, 0), 0);
		assert_int_equal(admit(r, cases[i].config, 4242), cases[i].field ? -EPERM : 0);
		if (cases[i].field)
			assert_non_null(strstr(e.text, cases[i].field));
	}
}

/* ---- exclusive_prio ---- */

TEST_WITH(exclusive_session_admits_only_higher_ones, setup, teardown)
{
	struct rig *r = *state;
	struct session s = {.state = SESSION_STARTED};
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;

	config.exclusive_prio = 5;
	config.unique_session_name = (char *)"name";
	s.config = &config;
	TAILQ_INSERT_TAIL(&r->sessions->list, &s, link);
	assert_int_equal(admit(r, "", 0), -EBUSY);
	assert_int_equal(admit(r, "exclusive_prio: 5", 0), -EBUSY);
	/* It will be gone, so its name is free. */
	assert_int_equal(admit(r, "exclusive_prio: 6 unique_session_name: 'name'", 0), 0);
	s.state = SESSION_CLONED;
	assert_int_equal(admit(r, "", 0), 0);
	TAILQ_INIT(&r->sessions->list);
}

/* The owners of the other sessions get the reason. A detached session is freed, a clone stays. */
TEST_WITH(exclusive_session_ends_all_others, setup, teardown)
{
	struct rig *r = *state;
	struct peer *attached = rig_consumer(r), *detached = rig_consumer(r), *clone;
	Pb__TraceConfig *c = peer_parse_config("exclusive_prio: 7");
	uint64_t enable = peer_enable(attached, "buffers { size_kb: 4 }");

	peer_enable(detached, "buffers { size_kb: 4 }");
	assert_true(peer_accepted(detached, peer_detach(detached, "key")));
	clone = rig_consumer(r);
	assert_true(peer_accepted(
		clone, peer_call_number(clone, C_CLONE, PB_CLONE_SESSION_REQUEST_SESSION_ID, 1)));
	admission_stop_others(r->sessions, c);
	assert_int_equal(rig_session(r)->state, SESSION_CLONED);
	assert_ptr_equal(rig_session(r), TAILQ_FIRST(&r->sessions->list));
	assert_true(peer_tracing_ended(attached, enable, "higher-priority (7)"));
	assert_true(peer_rejected(attached, peer_call(attached, C_STATS, NULL, 0)));
	pb__trace_config__free_unpacked(c, NULL);
	rig_hang_up(r, attached);
	rig_hang_up(r, detached);
	rig_hang_up(r, clone);
}
