/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/limits.h"
#include "service/ipc/limits.h"
#include "service_attacker.h"

/* Attacks by what is asked for: queries, configs, expressions, triggers. */

static const char *producers, *consumers; /* addresses */

/* It could not be made ready. */
static void attack_fails(int line)
{
	fprintf(stderr, "%s:%d: the attack cannot be made\n", __FILE__, line);
	_exit(REFUSED);
}

/* ---- what the attackers have ---- */

#define HEAVY "(.*){110}b"

static struct peer *producer(const char *name)
{
	struct peer *p = join(producers);

	if (!peer_accepted(p, peer_initialize(p, name, false)))
		attack_fails(__LINE__);
	return p;
}

static void add_sources(struct peer *p, const char *name, unsigned n, unsigned flags)
{
	for (unsigned i = 0; i < n; i++)
		if (!peer_accepted(p, peer_register(p, name, flags)))
			attack_fails(__LINE__);
}

/* Its commands are sent from now on. */
static void listens(struct peer *p)
{
	peer_call(p, P_GET_ASYNC, NULL, 0);
}

/* n producers of so many data sources of a name each, all listening. */
static void many_sources(const char *name, unsigned n, unsigned each)
{
	for (unsigned i = 0; i < n; i++) {
		struct peer *p = producer("many");

		add_sources(p, name, each, 0);
		listens(p);
	}
}

static struct peer *consumer(void)
{
	return join(consumers);
}

static struct peer *session(const char *config)
{
	struct peer *c = consumer();

	peer_enable(c, config);
	if (!peer_accepted(c, peer_call(c, C_QUERY_CAPABILITIES, NULL, 0)))
		attack_fails(__LINE__);
	return c;
}

/* A config with n times the same text in the middle. */
static char *repeat(const char *head, const char *text, unsigned n)
{
	size_t len = strlen(text), at = strlen(head);
	char *s = malloc(at + n * len + 1);

	assert(s);
	memcpy(s, head, at);
	for (unsigned i = 0; i < n; i++, at += len)
		memcpy(s + at, text, len);
	s[at] = '\0';
	return s;
}

/* The session of a request is there for a moment. */
static struct pb_mem comes_and_goes(const char *config)
{
	struct pb_mem all = {0}, args = enable_request(config);

	put_request(&all, C_ENABLE, &args);
	args = nothing();
	put_request(&all, C_FREE, &args);
	return all;
}

static struct pb_mem once(uint32_t method, struct pb_mem args)
{
	struct pb_mem all = {0};

	put_request(&all, method, &args);
	return all;
}

/* As many consumers as a user may have, or nearly. */
static void all_ask(const struct pb_mem *requests)
{
	for (int i = 0; i < 50; i++) {
		consumer();
		repeats(requests);
	}
	go_on();
}

/* ---- attacks ---- */

/* Data sources that come and go, and triggers that no session waits for. */
static void flood_of_producers(void)
{
	struct pb_mem all = {0}, args;

	args = nothing();
	peer_put_descriptor(&args.enc, "flood", 0, 0);
	put_request(&all, P_REGISTER_SOURCE, &args);
	args = text(PB_UNREGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_NAME, "flood");
	put_request(&all, P_UNREGISTER_SOURCE, &args);
	args = nothing();
	for (char c = 'a'; c <= 'z'; c++)
		pb_enc_str(&args.enc, PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES,
			   (char[]){c, '\0'});
	put_request(&all, P_TRIGGERS, &args);
	for (int i = 0; i < 100; i++) {
		producer("flood");
		repeats(&all);
	}
	go_on();
}

/* The whole state, which is as large as descriptors may make it, asked for on all connections. */
static void flood_of_queries(void)
{
	struct pb_mem all = once(C_QUERY_STATE, nothing());

	many_sources("s", 60, 500);
	all_ask(&all);
}

static void flood_of_small_queries(void)
{
	struct pb_mem all = once(C_QUERY_CAPABILITIES, nothing());

	all_ask(&all);
}

/* Each data source of a config is wanted from everybody. */
static void configs_for_many_producers(void)
{
	char *config = repeat("buffers { size_kb: 4 } ", "data_sources { config { name: 's' } } ",
			      MAX_CONFIG_SOURCES);
	struct pb_mem all = comes_and_goes(config);

	many_sources("s", 60, 500);
	all_ask(&all);
}

/* ... and is not for them: nothing counts against the limit of a session. */
static void configs_for_others(void)
{
	char *config = repeat("buffers { size_kb: 4 } ",
			      "data_sources { config { name: 's' } producer_name_filter: 'x' } ",
			      MAX_CONFIG_SOURCES);
	struct pb_mem all = comes_and_goes(config);

	many_sources("s", 60, 500);
	all_ask(&all);
}

static void large_configs_for_many(void)
{
	char *head =
		repeat("buffers { size_kb: 4 } data_sources { config { name: 's' legacy_config: '",
		       "0123456789", MAX_SOURCE_CONFIG_BYTES / 10 - 100);
	char *config = repeat(head, "' } } ", 1);
	struct pb_mem all = comes_and_goes(config);

	many_sources("s", 60, 80);
	all_ask(&all);
}

/* Expressions for the names of producers, each of which is another one. */
static void expressions_for_names(void)
{
	char *config = repeat("buffers { size_kb: 4 } ",
			      "data_sources { config { name: 's' } "
			      "producer_name_regex_filter: '" HEAVY "' } ",
			      MAX_REGEX_FILTERS);
	struct pb_mem all = comes_and_goes(config);
	char name[MAX_NAME_BYTES + 1];

	memset(name, 'a', sizeof(name));
	name[MAX_NAME_BYTES] = '\0';
	for (int i = 0; i < 500; i++) {
		struct peer *p;

		snprintf(name + MAX_NAME_BYTES - 8, 9, "%08u", (unsigned)i % 100000000);
		p = producer(name);
		add_sources(p, "s", 1, 0);
		listens(p);
	}
	all_ask(&all);
}

/* Sessions with as many triggers as there may be, and who activates all of them. */
static void put_triggers(struct pb_mem *m, bool equal)
{
	char name[16];

	for (unsigned i = 0; i < MAX_TRIGGER_NAMES; i++) {
		snprintf(name, sizeof(name), "t%u", equal ? 0 : i);
		pb_enc_str(&m->enc, PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES, name);
	}
}

static void trigger(const char *mode, const char *regex, bool equal)
{
	struct pb_mem args = nothing();
	struct pb_mem all;
	char *config = malloc(1 << 20), name[MAX_NAME_BYTES + 1];
	size_t at = (size_t)sprintf(config,
				    "buffers { size_kb: 64 } trigger_config { trigger_mode: %s "
				    "trigger_timeout_ms: 600000 ",
				    mode);

	for (unsigned i = 0; i < MAX_TRIGGERS; i++)
		at += (size_t)sprintf(config + at,
				      "triggers { name: 't%u' stop_delay_ms: 600000 "
				      "producer_name_regex: '%s%u|.*' } ",
				      i, regex, i);
	strcpy(config + at, "}");
	put_triggers(&args, equal);
	all = once(P_TRIGGERS, args);
	for (int i = 0; i < LIMIT_SESSIONS_PER_UID; i++)
		session(config);
	memset(name, 'a', sizeof(name));
	name[MAX_NAME_BYTES] = '\0';
	for (int i = 0; i < 8; i++) {
		snprintf(name + MAX_NAME_BYTES - 8, 9, "%08u", (unsigned)i % 100000000);
		producer(name);
		repeats(&all);
	}
	go_on();
}

static void triggers_with_expressions(void)
{
	trigger("STOP_TRACING", HEAVY, false);
}

static void triggers_that_snapshot(void)
{
	trigger("CLONE_SNAPSHOT", "x", false);
}

static void equal_triggers(void)
{
	trigger("STOP_TRACING", HEAVY, true);
}
