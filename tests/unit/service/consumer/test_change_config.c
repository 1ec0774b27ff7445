/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/service/rig.h"
#include "unit/test.h"

/* Always accepted, whatever comes of it. */
static void change(struct stage *g, const char *text)
{
	Pb__TraceConfig *c = peer_parse_config(text);
	static uint8_t packed[16384];
	size_t len = pb__trace_config__get_packed_size(c);
	struct pb_mem m;

	assert_true(len <= sizeof(packed));
	pb__trace_config__pack(c, packed);
	pb__trace_config__free_unpacked(c, NULL);
	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_bytes(&m.enc, PB_CHANGE_TRACE_CONFIG_REQUEST_TRACE_CONFIG, packed, len);
	assert_true(peer_accepted(g->cons, peer_call_mem(g->cons, C_CHANGE_CONFIG, &m)));
}

#define SOURCES(filter) "data_sources { config { name: 'src' } " filter " }"
#define BUFFER "buffers { size_kb: 64 } "

STAGE_TEST(further_producer_is_started)
{
	struct peer *late = rig_producer(&g->rig);
	uint64_t stream = peer_become_producer(late, "late", "src", 0, false);
	struct peer_session s = {0};

	stage_start(g, BUFFER SOURCES("producer_name_filter: 'prod'"));
	assert_true(peer_is_quiet(late));
	change(g, SOURCES("producer_name_filter: 'prod' producer_name_regex_filter: 'la.*'"));
	assert_true(peer_await_session(late, stream, true, &s));
	assert_true(peer_is_quiet(g->prod)); /* it runs already */
	assert_int_equal(rig_session(&g->rig)->n_instances, 2);
	change(g, SOURCES("producer_name_filter: 'none'"));
	assert_true(peer_is_quiet(g->prod) && peer_is_quiet(late)); /* nothing is stopped */
	assert_int_equal(rig_session(&g->rig)->n_instances, 2);
	peer_unmap(&s);
	rig_hang_up(&g->rig, late);
}

/* A producer that offers the name twice has two instances, whether the session begins or
 * changes. */
STAGE_TEST(each_registration_of_a_name_is_started)
{
	struct peer *late = rig_producer(&g->rig);
	const struct source_instance *i;
	uint64_t serials[2];
	size_t n = 0;

	peer_become_producer(late, "late", "src", 0, false);
	assert_true(peer_accepted(late, peer_register(late, "src", 0)));
	stage_start(g, BUFFER SOURCES("producer_name_filter: 'prod'"));
	assert_int_equal(rig_session(&g->rig)->n_instances, 1);
	change(g, SOURCES("producer_name_filter: 'prod' producer_name_filter: 'late'"));
	assert_int_equal(rig_session(&g->rig)->n_instances, 3);
	TAILQ_FOREACH (i, &rig_session(&g->rig)->instances, link)
		if (!strcmp(i->producer->name, "late"))
			serials[n++] = i->source_serial;
	assert_int_equal(n, 2);
	assert_int_not_equal(serials[0], serials[1]);
	change(g, SOURCES("producer_name_filter: 'prod' producer_name_filter: 'late'"));
	assert_int_equal(rig_session(&g->rig)->n_instances, 3); /* each once */
	rig_hang_up(&g->rig, late);
}

STAGE_TEST(only_filters_change)
{
	stage_start(g, BUFFER SOURCES("producer_name_filter: 'prod'") " duration_ms: 60000");
	change(g, "duration_ms: 1 buffers { size_kb: 1 } "
		  "data_sources { config { name: 'other' } } " SOURCES(""));
	assert_int_equal(rig_session(&g->rig)->config->duration_ms, 60000);
	assert_int_equal(rig_session(&g->rig)->config->n_data_sources, 1);
	assert_int_equal(rig_session(&g->rig)->config->data_sources[0]->n_producer_name_filter, 0);
}

STAGE_TEST(bad_expression_changes_nothing)
{
	stage_start(g, BUFFER SOURCES("producer_name_filter: 'prod'"));
	change(g, SOURCES("producer_name_filter: 'x' producer_name_regex_filter: '('"));
	assert_string_equal(rig_session(&g->rig)->config->data_sources[0]->producer_name_filter[0],
			    "prod");
}

STAGE_TEST(without_a_session_or_after_its_end_nothing_happens)
{
	change(g, SOURCES(""));
	stage_start(g, BUFFER SOURCES("producer_name_filter: 'prod'"));
	stage_disable(g);
	change(g, SOURCES(""));
	assert_int_equal(rig_session(&g->rig)->config->data_sources[0]->n_producer_name_filter, 1);
	assert_true(peer_rejected(g->cons, peer_call(g->cons, C_CHANGE_CONFIG, "\x0a\x7f", 2)));
}

/* Small on the wire, and a copy of it for each source of the name. */
STAGE_TEST(copies_of_filters_have_a_limit)
{
	enum { SOURCES_OF_IT = 1000, BYTES = 9000 };
	char *text = malloc(64 + 64 * SOURCES_OF_IT + BYTES), *end = text;
	const struct session *s;

	assert_non_null(text);
	end = stpcpy(end, BUFFER);
	for (int i = 0; i < SOURCES_OF_IT; i++)
		end = stpcpy(end, SOURCES("producer_name_filter: 'prod'"));
	stage_begin(g, text);
	s = rig_session(&g->rig);
	sprintf(text, SOURCES("producer_name_filter: '%0*d'"), BYTES, 0);
	change(g, text);
	for (size_t i = 0; i < s->config->n_data_sources; i++)
		assert_string_equal(s->config->data_sources[i]->producer_name_filter[0], "prod");
	change(g, SOURCES("producer_name_filter: 'other'"));
	assert_string_equal(s->config->data_sources[0]->producer_name_filter[0], "other");
	free(text);
}
