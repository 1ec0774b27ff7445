/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	record_session -> packets -> metrics_feed -> metrics_table -> metrics_write -> http_server
 *	     ^
 *	     +--- tick: once a second
 *
 * A session that ends is begun again after a pause; the table stays, so that totals continue.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/buffer_stats.h"
#include "analyze/metrics/metrics_feed.h"
#include "analyze/metrics/metrics_table.h"
#include "analyze/metrics/metrics_write.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/version.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/event_loop/sock.h"
#include "base/event_loop/sock_file.h"
#include "base/system/log.h"
#include "base/system/notify.h"
#include "base/text/str.h"
#include "cli/metrics/alert_intake.h"
#include "cli/metrics/http_server.h"
#include "cli/metrics/metrics_options.h"
#include "cli/record/record_session.h"
#include "cli/terminal/help.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/verb.h"
#include "cli/trace/ship_status.h"

#define AFTER_POLLS_MS 100u /* delay of a tick after the polls of the data sources */
#define LATE_PERIODS 3 /* after this many periods without values a flush requests them */
#define SETTLE_NS (3 * NS_PER_S)
#define CHOOSE_NS (60 * NS_PER_S)
#define FIRST_PAUSE_MS 1000u /* before the next session; doubled by each failure */
#define LAST_PAUSE_MS 30000u
#define BODY_AGE_NS NS_PER_S /* an exposition is reused for this time */

struct cached_body {
	struct http_body *body; /* a reference; NULL: none */
	uint64_t made_ns;
};

/* What the service lost, as of the last answer. */
struct service_losses {
	uint64_t overwritten, discarded, refused;
};

struct exporter {
	struct metrics_options options;
	struct event_base *loop; /* owned, as all that follows */
	struct termination_signals *signals;
	struct event *tick, *again;
	Pb__TraceConfig *config;
	struct record_session *session;
	struct metrics_table *table;
	struct metrics_feed *feed;
	struct http_server *server;
	struct alert_intake *alerts; /* NULL: without --alerts */
	char *token;
	struct cached_body bodies[METRICS_FORMATS];
	struct strbuf failures; /* failures that were already logged */
	struct service_losses lost;
	struct notify notify;
	uint64_t caught_up_ns; /* CLOCK_MONOTONIC: when the last values were received */
	uint32_t pause_ms;
	bool is_up;
};

/* ---- answers ---- */

static void set_gauge(struct exporter *x, enum metric_id metric, const char *label, double v)
{
	struct metrics_series *s = metrics_series_get(x->table, metric, NULL, label, NULL);

	if (s)
		s->gauge = v;
}

static void set_uploads(struct exporter *x, const char *result, uint64_t total)
{
	struct metrics_series *s = metrics_series_get(x->table, METRIC_UPLOADS, NULL, result, NULL);

	if (s)
		s->total = total;
}

/* Sets the series of sonda ship by the status files of its two processes, which may have a
 * directory each. Without any file there are no such series. */
static void read_status_of_ship(struct exporter *x)
{
	static const char *const names[] = {SHIP_STATUS_COLLECTOR, SHIP_STATUS_UPLOADER};
	uint64_t now = clock_ns(CLOCK_REALTIME) / NS_PER_S;
	struct ship_status all = {0}, one;
	bool found = false;

	for (size_t i = 0; i < x->options.n_ship * ARRAY_SIZE(names); i++) {
		if (ship_status_read(x->options.ship[i / ARRAY_SIZE(names)],
				     names[i % ARRAY_SIZE(names)], &one) < 0)
			continue;
		found = true;
		all.spool_bytes += one.spool_bytes;
		if (one.oldest_s && (!all.oldest_s || one.oldest_s < all.oldest_s))
			all.oldest_s = one.oldest_s;
		all.dropped += one.dropped;
		all.stored += one.stored;
		all.bad += one.bad;
		all.failed += one.failed;
	}
	if (!found)
		return;
	set_gauge(x, METRIC_SPOOL_BYTES, NULL, (double)all.spool_bytes);
	set_gauge(x, METRIC_SPOOL_OLDEST, NULL,
		  all.oldest_s && all.oldest_s < now ? (double)(now - all.oldest_s) : 0);
	set_uploads(x, "stored", all.stored);
	set_uploads(x, "dropped", all.dropped);
	set_uploads(x, "bad", all.bad);
	set_uploads(x, "failed", all.failed);
}

/* Returns a reference to the exposition; NULL: memory runs out. */
static struct http_body *get_cached_exposition(struct exporter *x, enum metrics_format format)
{
	struct cached_body *c = &x->bodies[format];
	uint64_t now = clock_mono_ns();
	struct strbuf text = {0};
	size_t len;

	if (c->body && now - c->made_ns < BODY_AGE_NS)
		return http_body_ref(c->body);
	http_body_unref(TAKE_PTR(c->body));
	read_status_of_ship(x);
	metrics_write(x->table, format, &text);
	len = text.len;
	c->body = http_body_new(strbuf_take(&text), len);
	c->made_ns = now;
	return c->body ? http_body_ref(c->body) : NULL;
}

static void answer_metrics(struct exporter *x, const struct http_request *r,
			   struct http_answer *ret)
{
	enum metrics_format format = metrics_format_choose(r->accept);

	if (r->method != HTTP_GET && r->method != HTTP_HEAD) {
		ret->status = 405;
		ret->allow = "GET, HEAD";
		return;
	}
	ret->body = get_cached_exposition(x, format);
	ret->status = ret->body ? 200 : 503;
	ret->type = ret->body ? metrics_format_type(format) : NULL;
}

static void exporter_handle_request(void *ctx, const struct http_request *r, const char *body,
				    struct http_answer *ret)
{
	struct exporter *x = ctx;

	if (!strcmp(r->path, "/metrics")) {
		answer_metrics(x, r, ret);
	} else if (x->alerts && !strcmp(r->path, "/alerts")) {
		ret->status = alert_intake_handle_request(x->alerts, r, body);
		ret->allow = ret->status == 405 ? "POST" : NULL;
	}
}

/* ---- alerts ---- */

static void exporter_on_alert(void *ctx, enum alert_result result)
{
	static const char *const names[ALERT_RESULTS] = {
		[ALERT_FIRED] = "fired",
		[ALERT_DUPLICATE] = "duplicate",
		[ALERT_RESOLVED] = "resolved",
		[ALERT_REFUSED] = "refused",
	};

	metrics_increase_counter(((struct exporter *)ctx)->table, METRIC_ALERTS, NULL,
				 names[result], 1);
}

static void exporter_on_snapshot(void *ctx, const char *result)
{
	uint64_t now_ms = clock_ns(CLOCK_REALTIME) / NS_PER_MS;
	struct exporter *x = ctx;

	metrics_increase_counter(x->table, METRIC_SNAPSHOTS, NULL, result, 1);
	if (!strcmp(result, "saved"))
		set_gauge(x, METRIC_SNAPSHOT_TIME, NULL, (double)now_ms / 1000);
}

static int exporter_begin_alerts(struct exporter *x, struct err_text *e)
{
	const struct metrics_options *o = &x->options;
	struct alert_intake_setup setup = {
		.loop = x->loop,
		.recorder = o->recorder,
		.service = sock_default_producer(),
		.n_triggers = o->n_triggers,
		.n_matches = o->n_matches,
		.limit = o->alert_limit,
		.on_alert = exporter_on_alert,
		.on_snapshot = exporter_on_snapshot,
		.ctx = x,
	};
	int r = alert_intake_read_token(o->token_file, &x->token, e);

	if (r < 0)
		return r;
	setup.token = x->token;
	memcpy(setup.matches, o->matches, sizeof(setup.matches));
	memcpy(setup.triggers, o->triggers, sizeof(setup.triggers));
	x->alerts = alert_intake_new(&setup);
	if (!x->alerts)
		return err_set(e, -ENOMEM, "out of memory");
	if (o->recorder)
		alert_intake_check_ring(x->alerts, o->alert_delay_ms / 1000);
	return 0;
}

/* ---- the session ---- */

static void exporter_on_state(void *ctx, bool at_end, const Pb__TracingServiceState *state)
{
	(void)ctx;
	(void)at_end;
	(void)state;
}

static void exporter_on_started(void *ctx)
{
	struct exporter *x = ctx;

	log_info("recording; metrics are at %s", x->options.listen);
	x->pause_ms = FIRST_PAUSE_MS;
	x->is_up = true;
	x->caught_up_ns = clock_mono_ns();
	set_gauge(x, METRIC_SESSION_UP, "metrics", 1);
}

static void count_new_loss(struct exporter *x, const char *place, uint64_t now, uint64_t *last)
{
	if (now > *last)
		metrics_increase_counter(x->table, METRIC_LOST, NULL, place, now - *last);
	*last = now;
}

static void exporter_on_stats(void *ctx, bool at_end, const Pb__TraceStats *stats)
{
	_cleanup_(freep) struct service_stats *s = calloc(1, sizeof(*s));
	struct service_losses now = {0};
	struct exporter *x = ctx;

	(void)at_end;
	if (!s)
		return;
	service_stats_from_message(stats, s);
	for (size_t i = 0; i < s->n_buffers; i++) {
		now.overwritten += s->buffers[i].chunks_overwritten;
		now.discarded += s->buffers[i].chunks_discarded;
		now.refused += s->buffers[i].writer_packet_loss;
	}
	count_new_loss(x, "overwritten chunks", now.overwritten, &x->lost.overwritten);
	count_new_loss(x, "discarded chunks", now.discarded, &x->lost.discarded);
	count_new_loss(x, "packets that did not fit in shared memory", now.refused,
		       &x->lost.refused);
}

static int exporter_on_packet(void *ctx, const uint8_t *data, size_t len)
{
	metrics_feed_add(((struct exporter *)ctx)->feed, data, len);
	return 0;
}

static void log_new_failures(struct exporter *x)
{
	const char *now = metrics_feed_failures(x->feed);
	size_t known = MIN(x->failures.len, strlen(now));

	for (const char *line = now + known; *line; line += strcspn(line, "\n") + 1)
		log_warn("%.*s", (int)strcspn(line, "\n"), line);
	strbuf_clear(&x->failures);
	strbuf_puts(&x->failures, now);
}

static int exporter_on_caught_up(void *ctx)
{
	struct exporter *x = ctx;

	x->caught_up_ns = clock_mono_ns();
	metrics_feed_end_period(x->feed, (int64_t)(clock_ns(CLOCK_REALTIME) - clock_boot_ns()));
	log_new_failures(x);
	return 0;
}

/* Begins the next session after a pause. Nothing of the old one is freed here: this may be one of
 * its callbacks. */
static void exporter_on_end(void *ctx, int error, const char *why)
{
	struct exporter *x = ctx;

	if (x->is_up || x->pause_ms == FIRST_PAUSE_MS)
		log_warn("no current values: %s",
			 error ? why : "the tracing service ended the session");
	x->is_up = false;
	set_gauge(x, METRIC_SESSION_UP, "metrics", 0);
	event_timer_ms(x->again, x->pause_ms);
	x->pause_ms = MIN(2 * x->pause_ms, LAST_PAUSE_MS);
}

static const struct record_session_ops exporter_session_ops = {
	.on_state = exporter_on_state,
	.on_started = exporter_on_started,
	.on_stats = exporter_on_stats,
	.on_packet = exporter_on_packet,
	.on_caught_up = exporter_on_caught_up,
	.on_end = exporter_on_end,
};

static void exporter_begin(evutil_socket_t fd, short what, void *ctx)
{
	struct exporter *x = ctx;
	struct err_text e = {""};

	(void)fd;
	(void)what;
	record_session_free(TAKE_PTR(x->session));
	metrics_feed_begin_session(x->feed);
	x->lost = (struct service_losses){0};
	if (record_session_start(x->loop, x->options.socket, x->config, &exporter_session_ops, x,
				 &e, &x->session) < 0)
		exporter_on_end(x, -EIO, e.text);
	else if (record_session_read_on_demand(x->session, x->loop) < 0)
		exporter_on_end(x, -ENOMEM, "out of memory");
}

static void exporter_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct exporter *x = ctx;
	bool late =
		clock_mono_ns() - x->caught_up_ns > LATE_PERIODS * METRICS_PERIOD_MS * NS_PER_MS;

	(void)fd;
	(void)what;
	event_timer_ms(x->tick, clock_ms_to_tick(METRICS_PERIOD_MS) + AFTER_POLLS_MS);
	if (x->is_up && x->session && record_session_catch_up(x->session, late))
		record_session_request_stats(x->session);
}

/* ---- start and end ---- */

/* Serves the sockets that systemd passes. Returns their number, or -errno and sets e. */
static int serve_systemd_sockets(struct exporter *x, struct err_text *e)
{
	size_t n;
	int r = sock_find_passed(HTTP_LISTENERS_MAX, &n, e);

	if (r < 0 || n == 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (http_server_listen(x->server, SOCK_FIRST_PASSED + (int)i) < 0)
			return err_set(e, -ENOMEM, "out of memory");
	x->options.listen = "the passed socket";
	return (int)n;
}

static int exporter_listen(struct exporter *x, struct err_text *e)
{
	const struct http_server_config config = {
		.loop = x->loop,
		.users = x->options.users,
		.n_users = x->options.n_users,
		.answer = exporter_handle_request,
		.ctx = x,
	};
	int fd, r = http_server_new(&config, &x->server);

	if (r < 0)
		return err_set(e, r, "out of memory");
	r = serve_systemd_sockets(x, e);
	if (r != 0)
		return MIN(r, 0);
	r = sock_listen(x->options.listen, &fd, e);
	if (r == 0 && http_server_listen(x->server, fd) < 0)
		r = err_set(e, -ENOMEM, "out of memory");
	return r;
}

static void exporter_on_signal(void *ctx, int number, bool by_terminal)
{
	event_base_loopbreak(((struct exporter *)ctx)->loop);
}

static int exporter_make_events(struct exporter *x)
{
	x->loop = event_base_new();
	x->tick = x->loop ? evtimer_new(x->loop, exporter_on_tick, x) : NULL;
	x->again = x->loop ? evtimer_new(x->loop, exporter_begin, x) : NULL;
	if (!x->tick || !x->again)
		return -ENOMEM;
	return termination_signals_watch(x->loop, 0, exporter_on_signal, x, &x->signals);
}

static int exporter_prepare(struct exporter *x, struct err_text *e)
{
	const struct metrics_limits limits = {.subjects = x->options.subjects,
					      .series = x->options.series};
	const struct metrics_setup setup = {
		.settle_ns = SETTLE_NS,
		.gone_ns = 5 * METRICS_CLEAR_MS / 2 * NS_PER_MS,
		.choose_ns = CHOOSE_NS,
	};

	if (metrics_config_build(&x->options, &x->config) < 0 || exporter_make_events(x) < 0 ||
	    metrics_table_new(&limits, &x->table) < 0 ||
	    metrics_feed_new(&setup, x->table, &x->feed) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	set_gauge(x, METRIC_BUILD, SONDA_VERSION, 1);
	set_gauge(x, METRIC_SESSION_UP, "metrics", 0);
	x->pause_ms = FIRST_PAUSE_MS;
	if (x->options.token_file) {
		int r = exporter_begin_alerts(x, e);

		if (r < 0)
			return r;
	}
	return exporter_listen(x, e);
}

static void exporter_clean_up(struct exporter *x)
{
	record_session_free(x->session);
	http_server_free(x->server);
	alert_intake_free(x->alerts);
	free(x->token);
	for (size_t i = 0; i < METRICS_FORMATS; i++)
		http_body_unref(x->bodies[i].body);
	metrics_feed_free(x->feed);
	metrics_table_free(x->table);
	strbuf_deinit(&x->failures);
	if (x->config)
		pb__trace_config__free_unpacked(x->config, NULL);
	event_freep(&x->tick);
	event_freep(&x->again);
	termination_signals_free(x->signals);
	event_base_freep(&x->loop);
	notify_close(&x->notify);
}

int cmd_metrics(int argc, char **argv)
{
	struct exporter x = {.session = NULL};
	struct err_text e = {""};
	int r = metrics_options_parse(argc, argv, &x.options, &e);

	if (r < 0) {
		log_error("metrics: %s", e.text);
		log_error("see sonda help metrics");
		return EXIT_USAGE;
	}
	if (x.options.help) {
		help_print(metrics_usage);
		return EXIT_GOOD;
	}
	if (notify_open(&x.notify, "SONDA_METRICS_NOTIFY_FD", &e) < 0)
		log_warn("%s", e.text);
	r = exporter_prepare(&x, &e);
	if (r == 0) {
		if (notify_ready(&x.notify, &e) < 0)
			log_warn("%s", e.text);
		exporter_begin(-1, 0, &x);
		exporter_on_tick(-1, 0, &x);
		event_base_dispatch(x.loop);
	} else {
		log_error("metrics: %s", e.text);
	}
	exporter_clean_up(&x);
	return r < 0 ? EXIT_FAILED : EXIT_GOOD;
}
