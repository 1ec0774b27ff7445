/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/metrics/alert_intake.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/sock.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "cli/trace/activate_triggers.h"
#include "cli/trace/alert.h"

#define KNOWN_MAX 1024 /* alerts that are remembered; the oldest is forgotten */
#define CALLS_MAX 8 /* answers that are awaited */
#define PATIENCE_S 120 /* for the answer of the recorder */
#define HOUR_NS (3600 * NS_PER_S)
#define TOKEN_MAX 256
#define TOKEN_MIN 8
#define DESCRIPTION_MAX 512 /* bytes of the text that stands for an alert in the trace */

enum {
	OK = 200,
	BAD_REQUEST = 400,
	UNAUTHORIZED = 401,
	METHOD_NOT_ALLOWED = 405,
	UNAVAILABLE = 503
};

struct known_alert {
	char fingerprint[33], starts_at[40];
};

/* A connection to the recorder, which was sent a line and has not answered yet. */
struct recorder_call {
	LIST_ENTRY(recorder_call) entry;
	struct alert_intake *owner; /* borrowed */
	int fd; /* owned */
	struct event *event; /* owned */
	struct known_alert alert; /* empty: the line is the question about the ring */
	uint32_t delay_s; /* of that question */
	uint32_t slot; /* in passed_ns */
};

/* A connection to the tracing service that activates a trigger for an alert. */
struct service_call {
	LIST_ENTRY(service_call) entry;
	struct alert_intake *owner; /* borrowed */
	struct trigger_call *call; /* owned */
	const char *trigger; /* borrowed */
	struct known_alert alert;
	uint32_t slot; /* in passed_ns */
};

struct alert_intake {
	struct alert_intake_setup setup;
	struct known_alert known[KNOWN_MAX];
	size_t next_known;
	/* When alerts were passed on, as many as setup.limit; 0: no alert. */
	uint64_t passed_ns[ALERT_LIMIT_MAX];
	LIST_HEAD(, recorder_call) recorder_calls;
	LIST_HEAD(, service_call) service_calls;
	unsigned n_calls;
	bool is_unreachable; /* an alert of the request could not be passed on */
	struct log_limit logged;
};

/* ---- alerts that are known ---- */

static struct known_alert *known_alert_find(struct alert_intake *a, const char *fingerprint,
					    const char *starts_at)
{
	for (size_t i = 0; i < KNOWN_MAX; i++)
		if (!strcmp(a->known[i].fingerprint, fingerprint) &&
		    !strcmp(a->known[i].starts_at, starts_at))
			return &a->known[i];
	return NULL;
}

static struct known_alert known_alert_of(const struct alert *alert)
{
	struct known_alert k;

	snprintf(k.fingerprint, sizeof(k.fingerprint), "%s", alert->fingerprint);
	snprintf(k.starts_at, sizeof(k.starts_at), "%s", alert->starts_at);
	return k;
}

static void known_alert_add(struct alert_intake *a, const struct alert *alert)
{
	struct known_alert *k = &a->known[a->next_known++ % KNOWN_MAX];

	*k = known_alert_of(alert);
}

/* Forgets an alert that nothing acted on: its slot of the limit is free again, and its repetition
 * will be passed on. */
static void known_alert_forget(struct alert_intake *a, const struct known_alert *alert,
			       uint32_t slot)
{
	struct known_alert *k = known_alert_find(a, alert->fingerprint, alert->starts_at);

	a->passed_ns[slot] = 0;
	if (k)
		*k = (struct known_alert){.fingerprint = ""};
}

/* ---- calls of the recorder ---- */

static void recorder_call_free(struct recorder_call *c)
{
	LIST_REMOVE(c, entry);
	c->owner->n_calls--;
	event_freep(&c->event);
	closep(&c->fd);
	free(c);
}

static void log_ring_extent(const struct recorder_call *c, const char *answer)
{
	uint64_t holds, before;

	if (sscanf(answer, "ring %" SCNu64 " %" SCNu64, &holds, &before) != 2)
		log_warn("the recorder on %s did not reply, so the length of the ring is unknown",
			 c->owner->setup.recorder);
	else if (MIN(holds, before) <= c->delay_s)
		log_warn("an alert can arrive %u s after it started, but a snapshot covers only "
			 "the last %" PRIu64 " s (the ring: %" PRIu64
			 " s), so the time before the alert is missing; start sonda recorder with "
			 "a longer --before and a larger --size",
			 c->delay_s, before, holds);
	else
		log_info("alerts: the ring holds %" PRIu64 " s; a snapshot covers the last %" PRIu64
			 " s; for an alert that arrives %u s late, this includes at least %" PRIu64
			 " s from before it started",
			 holds, before, c->delay_s, MIN(holds, before) - c->delay_s);
}

static void recorder_call_end(struct recorder_call *c, const char *answer)
{
	struct alert_intake *a = c->owner;

	if (!c->alert.fingerprint[0]) {
		log_ring_extent(c, answer);
	} else {
		bool is_saved = !strcmp(answer, "saved"), is_skipped = !strcmp(answer, "skipped");

		a->setup.on_snapshot(a->setup.ctx, is_saved	? "saved"
						   : is_skipped ? "skipped"
								: "failed");
		if (!is_saved)
			known_alert_forget(a, &c->alert, c->slot);
	}
	recorder_call_free(c);
}

static void on_recorder_answer(evutil_socket_t fd, short what, void *ctx)
{
	struct recorder_call *c = ctx;
	char text[128];
	ssize_t n = what & EV_READ ? recv(fd, text, sizeof(text) - 1, 0) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	text[MAX(n, 0)] = '\0';
	text[strcspn(text, "\n")] = '\0';
	recorder_call_end(c, text);
}

/* Sends a line to the recorder, and awaits the answer. alert: may be NULL. Returns 0 and the call,
 * which is borrowed; or -errno. */
static int recorder_call_new(struct alert_intake *a, const struct strbuf *line,
			     const struct alert *alert, struct recorder_call **ret)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	struct recorder_call *c;
	int fd, r = a->n_calls < CALLS_MAX ? sock_connect(a->setup.recorder, &fd) : -EBUSY;

	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c || send(fd, line->s, line->len, MSG_NOSIGNAL) != (ssize_t)line->len) {
		r = c ? -EPIPE : -ENOMEM;
		free(c);
		close(fd);
		return r;
	}
	c->owner = a;
	c->fd = fd;
	if (alert)
		c->alert = known_alert_of(alert);
	LIST_INSERT_HEAD(&a->recorder_calls, c, entry);
	a->n_calls++;
	c->event = event_new(a->setup.loop, fd, EV_READ, on_recorder_answer, c);
	if (!c->event || event_add(c->event, &patience)) {
		recorder_call_free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

void alert_intake_check_ring(struct alert_intake *a, uint32_t delay_s)
{
	struct recorder_call *call;
	struct strbuf line = {0};
	int r;

	strbuf_puts(&line, "ring\n");
	r = line.failed ? -ENOMEM : recorder_call_new(a, &line, NULL, &call);
	if (r == 0)
		call->delay_s = delay_s;
	else
		log_warn("no recorder listens on %s: %s; alerts are rejected until one does",
			 a->setup.recorder, strerror(-r));
	strbuf_deinit(&line);
}

/* ---- triggers of sessions ---- */

/* Returns the name of the trigger for an alert, borrowed from the setup, or NULL. */
static char *find_trigger(const struct alert_intake *a, const struct alert *alert)
{
	for (size_t i = 0; i < a->setup.n_triggers; i++) {
		char *equals = strrchr(a->setup.triggers[i], '=');
		char glob[128];

		snprintf(glob, sizeof(glob), "%.*s", (int)(equals - a->setup.triggers[i]),
			 a->setup.triggers[i]);
		if (str_glob(glob, alert_find_label(alert, "alertname")))
			return equals + 1;
	}
	return NULL;
}

static void service_call_free(struct service_call *c)
{
	LIST_REMOVE(c, entry);
	c->owner->n_calls--;
	trigger_call_free(c->call);
	free(c);
}

static void service_call_on_end(void *ctx, int error)
{
	struct service_call *c = ctx;
	struct alert_intake *a = c->owner;

	if (error) {
		log_write_limited(&a->logged, LOG_LEVEL_WARN,
				  "cannot activate the trigger %s at the tracing service on %s: %s",
				  c->trigger, a->setup.service, strerror(-error));
		known_alert_forget(a, &c->alert, c->slot);
	}
	service_call_free(c);
}

/* Appends what the trace shows as the producer of the trigger: the alert's name, start and
 * labels. */
static void describe_alert(const struct alert *alert, struct strbuf *b)
{
	strbuf_printf(b, "alert %s since %s", alert_find_label(alert, "alertname"),
		      alert->starts_at);
	for (size_t i = 0; i < alert->n_labels; i++)
		if (strcmp(alert->labels[i].name, "alertname") != 0)
			strbuf_printf(b, " %s=%s", alert->labels[i].name, alert->labels[i].value);
	if (b->failed)
		return;
	b->len = MIN(b->len, (size_t)DESCRIPTION_MAX);
	b->s[b->len] = '\0';
	str_make_plain(b->s, b->len, "");
}

static int service_call_new(struct alert_intake *a, const struct alert *alert, char *trigger,
			    uint32_t slot)
{
	struct service_call *c = calloc(1, sizeof(*c));
	struct strbuf producer = {0};
	int r;

	if (!c)
		return -ENOMEM;
	c->owner = a;
	c->trigger = trigger;
	c->alert = known_alert_of(alert);
	c->slot = slot;
	describe_alert(alert, &producer);
	r = producer.failed ? -ENOMEM
			    : trigger_call_start(
				      &(const struct trigger_call_setup){
					      .loop = a->setup.loop,
					      .address = a->setup.service,
					      .producer = producer.s,
					      .names = &trigger,
					      .n = 1,
					      .on_end = service_call_on_end,
					      .ctx = c,
				      },
				      &c->call);
	strbuf_deinit(&producer);
	if (r < 0) {
		free(c);
		return r;
	}
	LIST_INSERT_HEAD(&a->service_calls, c, entry);
	a->n_calls++;
	return 0;
}

/* ---- an alert ---- */

static bool alert_matches(const struct alert_intake *a, const struct alert *alert)
{
	for (size_t i = 0; i < a->setup.n_matches; i++) {
		const char *equals = strchr(a->setup.matches[i], '=');
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)(equals - a->setup.matches[i]),
			 a->setup.matches[i]);
		if (!str_glob(equals + 1, alert_find_label(alert, name)))
			return false;
	}
	return true;
}

/* Finds room for one more alert in this hour. Returns false if there is none. */
static bool find_rate_limit_slot(const struct alert_intake *a, uint32_t *ret)
{
	uint64_t now = clock_mono_ns();

	for (uint32_t i = 0; i < a->setup.limit; i++) {
		*ret = i;
		if (!a->passed_ns[i] || now - a->passed_ns[i] > HOUR_NS)
			return true;
	}
	return false;
}

static int send_to_recorder(struct alert_intake *a, const struct alert *alert, uint32_t slot)
{
	struct recorder_call *call;
	struct strbuf line = {0};
	int r;

	alert_put_json(alert, &line);
	strbuf_putc(&line, '\n');
	r = line.failed ? -ENOMEM : recorder_call_new(a, &line, alert, &call);
	strbuf_deinit(&line);
	if (r == 0)
		call->slot = slot;
	return r;
}

/* Passes an alert on: to the service as this trigger, or to the recorder if trigger is NULL. slot:
 * the alert's slot of the limit. Returns 0 or -errno. */
static int forward_alert(struct alert_intake *a, const struct alert *alert, char *trigger,
			 uint32_t slot)
{
	int r = trigger ? service_call_new(a, alert, trigger, slot)
			: send_to_recorder(a, alert, slot);

	if (r < 0 && !a->is_unreachable)
		log_write_limited(&a->logged, LOG_LEVEL_WARN,
				  "cannot pass an alert to the %s on %s: %s",
				  trigger ? "tracing service" : "recorder",
				  trigger ? a->setup.service : a->setup.recorder, strerror(-r));
	if (r < 0)
		return r;
	known_alert_add(a, alert);
	a->passed_ns[slot] = clock_mono_ns();
	return 0;
}

static void alert_intake_on_alert(void *ctx, const struct alert *alert)
{
	struct alert_intake *a = ctx;
	enum alert_result result = ALERT_FIRED;
	char *trigger = find_trigger(a, alert);
	uint32_t slot = 0;

	if (!alert->is_firing)
		result = ALERT_RESOLVED;
	else if (known_alert_find(a, alert->fingerprint, alert->starts_at))
		result = ALERT_DUPLICATE;
	else if ((!trigger && !a->setup.recorder) || !alert_matches(a, alert) ||
		 !find_rate_limit_slot(a, &slot) || a->n_calls == CALLS_MAX)
		result = ALERT_REFUSED;
	if (result == ALERT_FIRED &&
	    (a->is_unreachable || forward_alert(a, alert, trigger, slot) < 0)) {
		a->is_unreachable = true;
		result = ALERT_REFUSED;
	}
	a->setup.on_alert(a->setup.ctx, result);
}

/* ---- a request ---- */

/* Compares in constant time, so that the time does not show where the texts differ. */
static bool has_valid_token(const struct alert_intake *a, const char *header)
{
	static const char scheme[] = "Bearer ";
	const char *token = a->setup.token, *given = header + sizeof(scheme) - 1;
	size_t len = strlen(token);
	unsigned char differs = 0;

	if (!str_starts(header, scheme) || strlen(given) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(token[i] ^ given[i]);
	return !differs;
}

unsigned alert_intake_handle_request(struct alert_intake *a, const struct http_request *r,
				     const char *body)
{
	if (r->method != HTTP_POST)
		return METHOD_NOT_ALLOWED;
	if (!has_valid_token(a, r->authorization)) {
		log_write_limited(&a->logged, LOG_LEVEL_WARN,
				  "rejected alerts without a valid token");
		return UNAUTHORIZED;
	}
	a->is_unreachable = false;
	if (!str_starts(r->content_type, "application/json") ||
	    alert_for_each(body, (size_t)r->length, alert_intake_on_alert, a) < 0) {
		log_write_limited(&a->logged, LOG_LEVEL_WARN,
				  "rejected a request that is not a valid Alertmanager webhook");
		return BAD_REQUEST;
	}
	return a->is_unreachable ? UNAVAILABLE : OK;
}

/* ---- life ---- */

struct alert_intake *alert_intake_new(const struct alert_intake_setup *setup)
{
	struct alert_intake *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->setup = *setup;
	LIST_INIT(&a->recorder_calls);
	LIST_INIT(&a->service_calls);
	return a;
}

void alert_intake_free(struct alert_intake *a)
{
	if (!a)
		return;
	while (!LIST_EMPTY(&a->recorder_calls))
		recorder_call_free(LIST_FIRST(&a->recorder_calls));
	while (!LIST_EMPTY(&a->service_calls))
		service_call_free(LIST_FIRST(&a->service_calls));
	free(a);
}

int alert_intake_read_token(const char *path, char **ret, struct err_text *e)
{
	struct strbuf text = {0};
	int r = fs_read_file(path, 4096, &text);
	size_t len = text.s ? strcspn(text.s, "\r\n") : 0;

	if (r < 0)
		err_set(e, r, "cannot read the token file %.200s: %s", path, strerror(-r));
	else if (len < TOKEN_MIN || len > TOKEN_MAX)
		r = err_set(e, -EINVAL, "the token in %.200s has %zu characters; expected %d to %d",
			    path, len, TOKEN_MIN, TOKEN_MAX);
	if (r == 0) {
		text.s[len] = '\0';
		*ret = strbuf_take(&text);
		r = *ret ? 0 : err_set(e, -ENOMEM, "out of memory");
	}
	strbuf_deinit(&text);
	return r;
}
