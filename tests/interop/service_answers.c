/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says to a service what a script on stdin says, frame by frame, and prints at the end what each
 * connection has heard, in words that do not depend on the service: so two services that behave
 * alike print the same.
 *
 *	NAME producer [scrape]            a connection that has introduced itself
 *	NAME producer exact               the same; what it hears is printed as bytes
 *	NAME consumer
 *	NAME register SOURCE [FLAG...]    start, stop, no_flush, clear: DataSourceDescriptor
 *	NAME config TEXT                  EnableTracing
 *	NAME source HEX                   EnableTracing with these bytes as a DataSourceConfig
 *	NAME change TEXT                  ChangeTraceConfig
 *	NAME METHOD [FIELD=VALUE...]      a call; values are numbers, or text in quotes
 *	NAME put WRITER BUFFER TEXT...    commits a chunk with a packet for each text
 *	NAME ack                          commits the flush that was asked for last
 *	NAME read                         ReadBuffers: the texts, and how many triggers
 *	NAME until METHOD                 one more frame of this method has come
 *	NAME close
 *
 * After each line all connections are read until what the service had to say to it has come: until
 * the answer to one more request, twice.
 */
#include "base/core/mem.h"
#include "base/text/str.h"
#include "ipc/consumer_port.pb-c.h"
#include "unit/../system/service_peer_consumer.h"
#include "unit/../system/service_peer_producer.h"

#define MAX_PARTIES 8
#define MAX_CALLS 256
#define MAX_WORDS 16
#define MAX_FIELDS 64
#define BIG 1000000000u /* times and random numbers; they differ anyway */

static const char *const producer_methods[] = {
	"",
	"InitializeConnection",
	"RegisterDataSource",
	"UnregisterDataSource",
	"CommitData",
	"GetAsyncCommand",
	"RegisterTraceWriter",
	"UnregisterTraceWriter",
	"NotifyDataSourceStarted",
	"NotifyDataSourceStopped",
	"ActivateTriggers",
	"Sync",
	"UpdateDataSource",
};
static const char *const consumer_methods[] = {
	"",
	"EnableTracing",
	"DisableTracing",
	"ReadBuffers",
	"FreeBuffers",
	"Flush",
	"StartTracing",
	"ChangeTraceConfig",
	"Detach",
	"Attach",
	"GetTraceStats",
	"ObserveEvents",
	"QueryServiceState",
	"QueryCapabilities",
	"SaveTraceForBugreport",
	"CloneSession",
};

static struct party {
	char name[16];
	bool producer, closed, exact;
	struct peer p;
	uint64_t stream, flush;
	struct peer_session s;
	uint32_t page, chunk[16];
	uint32_t method[MAX_CALLS]; /* by request */
	unsigned heard[MAX_CALLS]; /* by method; "until" takes one off */
	struct strbuf said; /* what is printed */
} parties[MAX_PARTIES];
static size_t n_parties;

static uint64_t call(struct party *a, uint32_t method, struct pb_mem *m)
{
	uint64_t id = m ? peer_call_mem(&a->p, method, m) : peer_call(&a->p, method, NULL, 0);

	if (id < MAX_CALLS)
		a->method[id] = method;
	return id;
}

/* ---- what is printed ---- */

static bool is_text(const struct pb_field *f)
{
	for (size_t i = 0; i < f->len; i++)
		if (f->data[i] < ' ' || f->data[i] > '~')
			return false;
	return true;
}

/* The fields by number, as encoders do as they like. */
static size_t sorted_fields(const uint8_t *data, size_t len, struct pb_field *list, size_t max)
{
	struct pb_field f;
	struct pb_dec d;
	size_t n = 0, at;

	pb_dec_init(&d, data, len);
	while (n < max && pb_dec_next(&d, &f)) {
		for (at = n++; at > 0 && list[at - 1].id > f.id; at--)
			list[at] = list[at - 1];
		list[at] = f;
	}
	return n;
}

/* The texts of errors differ between services: by default only their presence is written. */
static void tell_message(struct strbuf *to, const uint8_t *data, size_t len, bool with_texts)
{
	struct pb_field list[MAX_FIELDS];
	size_t n = sorted_fields(data, len, list, MAX_FIELDS);

	for (struct pb_field *f = list; f < list + n; f++) {
		if (f->wire_type != PB_WIRE_BYTES && f->u64 >= BIG)
			strbuf_printf(to, " %u=big", f->id);
		else if (f->wire_type != PB_WIRE_BYTES && f->u64)
			strbuf_printf(to, " %u=%llu", f->id, (unsigned long long)f->u64);
		else if (f->wire_type != PB_WIRE_BYTES || f->len == 0)
			continue; /* as good as not there */
		else if (is_text(f) && with_texts)
			strbuf_printf(to, " %u=%.*s", f->id, (int)f->len, (const char *)f->data);
		else if (is_text(f))
			strbuf_printf(to, " %u=*", f->id);
		else {
			strbuf_printf(to, " %u={", f->id);
			tell_message(to, f->data, f->len, with_texts);
			strbuf_printf(to, " }");
		}
	}
}

/* The number of a flush is the service's own business. */
static bool tell_flush(struct party *a)
{
	struct pb_field flush, f;
	struct pb_dec d;

	if (!peer_field(&a->p, CMD(FLUSH), &flush))
		return false;
	a->flush = peer_number(&flush, CMD(FLUSH_REQUEST_ID));
	strbuf_printf(&a->said, " flush, flags %llu, of",
		      (unsigned long long)peer_number(&flush, CMD(FLUSH_FLAGS)));
	pb_dec_init(&d, flush.data, flush.len);
	while (pb_dec_next(&d, &f))
		if (f.id == CMD(FLUSH_DATA_SOURCE_IDS))
			strbuf_printf(&a->said, " %llu", (unsigned long long)f.u64);
	return true;
}

static void tell_bytes(struct strbuf *to, const struct frame *f)
{
	strbuf_printf(to, " ");
	for (size_t i = 0; i < f->payload_len; i++)
		strbuf_printf(to, "%02x", f->payload[i]);
}

static void tell_frame(struct party *a)
{
	const struct frame *f = &a->p.f;
	uint32_t m = f->request_id < MAX_CALLS ? a->method[f->request_id] : 0;
	const char *method = (a->producer ? producer_methods : consumer_methods)[m];
	bool own_words = !a->producer && (m == C_ENABLE || m == C_CLONE || m == C_SAVE);
	struct pb_field setup;

	a->heard[m]++;
	strbuf_printf(&a->said, "  %s %s%s", method, f->success ? "good" : "failed",
		      f->has_more ? ", more" : "");
	if (a->producer && peer_field(&a->p, CMD(SETUP_TRACING), &setup) && a->p.got_fd >= 0) {
		assert(peer_map(&a->p, &setup, &a->s));
		strbuf_printf(&a->said, ", memory of %zu", a->s.smb_size);
	}
	if (a->exact)
		tell_bytes(&a->said, f);
	else if (!a->producer || !tell_flush(a))
		tell_message(&a->said, f->payload, f->payload_len, !own_words);
	strbuf_printf(&a->said, "\n");
}

static void hear(struct party *a)
{
	uint64_t fence;

	if (a->closed)
		return;
	fence = peer_call(&a->p, a->producer ? P_SYNC : C_QUERY_CAPABILITIES, NULL, 0);
	while (peer_next(&a->p) && a->p.f.request_id != fence)
		tell_frame(a);
	if (a->p.eof) {
		strbuf_printf(&a->said, "  hung up\n");
		a->closed = true;
	}
}

/* ---- the lines of the script ---- */

static void put_argument(struct pb_mem *m, const char *word)
{
	const char *value = strchr(word, '=');
	uint32_t field = (uint32_t)strtoul(word, NULL, 10);

	assert(value && field);
	if (value[1] == '\'')
		pb_enc_bytes(&m->enc, field, value + 2, strlen(value + 2) - 1);
	else
		pb_enc_u64(&m->enc, field, strtoull(value + 1, NULL, 0));
}

static uint32_t method_named(const struct party *a, const char *name)
{
	const char *const *names = a->producer ? producer_methods : consumer_methods;
	size_t n = a->producer ? ARRAY_SIZE(producer_methods) : ARRAY_SIZE(consumer_methods);

	for (uint32_t i = 1; i < n; i++)
		if (!strcmp(names[i], name))
			return i;
	fprintf(stderr, "no method %s\n", name);
	exit(2);
}

static void do_call(struct party *a, char **words, size_t n)
{
	uint32_t method = method_named(a, words[0]);
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	for (size_t k = 1; k < n; k++)
		put_argument(&m, words[k]);
	call(a, method, &m);
}

static void do_until(struct party *a, const char *name)
{
	uint32_t method = method_named(a, name);

	while (a->heard[method] == 0 && peer_next(&a->p))
		tell_frame(a);
	if (a->heard[method] > 0)
		a->heard[method]--;
	else
		strbuf_printf(&a->said, "  no %s came\n", name);
}

static void do_register(struct party *a, char **words, size_t n)
{
	unsigned flags = 0;
	struct pb_mem m;

	for (size_t i = 2; i < n; i++)
		flags |= !strcmp(words[i], "start")	 ? DS_NOTIFY_START
			 : !strcmp(words[i], "stop")	 ? DS_NOTIFY_STOP
			 : !strcmp(words[i], "no_flush") ? DS_NO_FLUSH
							 : DS_CLEARS;
	assert(pb_mem_init(&m) == 0);
	peer_put_descriptor(&m.enc, words[1], flags, 0);
	call(a, P_REGISTER_SOURCE, &m);
}

static void do_config(struct party *a, uint32_t method, const char *text)
{
	Pb__TraceConfig *c = peer_parse_config(text);
	size_t len = pb__trace_config__get_packed_size(c);
	uint8_t *packed = malloc(len + 1);
	struct pb_mem m;

	assert(packed && pb_mem_init(&m) == 0);
	pb__trace_config__pack(c, packed);
	pb_enc_bytes(&m.enc, PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG, packed, len);
	call(a, method, &m);
	pb__trace_config__free_unpacked(c, NULL);
	free(packed);
}

/* A session with one buffer, and one data source whose config has these bytes. */
static void do_source(struct party *a, const char *hex)
{
	uint8_t config[256];
	size_t len = strlen(hex) / 2;
	struct pb_mem m;
	unsigned byte;

	assert(len <= sizeof(config) && pb_mem_init(&m) == 0);
	for (size_t i = 0; i < len; i++) {
		assert(sscanf(hex + 2 * i, "%2x", &byte) == 1);
		config[i] = (uint8_t)byte;
	}
	pb_enc_open(&m.enc, PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG);
	pb_enc_open(&m.enc, PB_TRACE_CONFIG_BUFFERS);
	pb_enc_u64(&m.enc, PB_TRACE_CONFIG_BUFFER_CONFIG_SIZE_KB, 64);
	pb_enc_close(&m.enc);
	pb_enc_open(&m.enc, PB_TRACE_CONFIG_DATA_SOURCES);
	pb_enc_bytes(&m.enc, PB_TRACE_CONFIG_DATA_SOURCE_CONFIG, config, len);
	pb_enc_close(&m.enc);
	pb_enc_close(&m.enc);
	call(a, C_ENABLE, &m);
}

static void do_put(struct party *a, char **words, size_t n)
{
	uint32_t writer = (uint32_t)atoi(words[1]), buffer = (uint32_t)atoi(words[2]);
	struct pb_mem m;

	if (!a->s.smb.base) {
		strbuf_printf(&a->said, "  has no memory\n");
		return;
	}
	assert(writer < ARRAY_SIZE(a->chunk));
	peer_write_chunk(&a->s.smb, a->page, (uint16_t)writer, a->chunk[writer]++,
			 (const char *const *)words + 3, n - 3, true);
	assert(pb_mem_init(&m) == 0);
	peer_put_move(&m.enc, a->page, 0, buffer);
	call(a, P_COMMIT, &m);
	a->page = (a->page + 1) % (uint32_t)(a->s.smb_size / 4096);
}

static void do_ack(struct party *a)
{
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_FLUSH_REQUEST_ID, a->flush);
	call(a, P_COMMIT, &m);
}

static void do_read(struct party *a)
{
	struct peer_packets t;
	unsigned triggers = 0;
	struct pb_field f;

	if (!peer_read(&a->p, &t)) {
		strbuf_printf(&a->said, "  is not read\n");
		return;
	}
	strbuf_printf(&a->said, t.n ? "  packets:" : "  nothing");
	for (size_t i = 0; i < t.n; i++) {
		if (peer_packet_field(&t, i, PEER_FIELD, &f))
			strbuf_printf(&a->said, " %.*s", (int)f.len, (const char *)f.data);
		triggers += peer_packet_field(&t, i, PB_TRACE_PACKET_TRIGGER, &f) ||
			    peer_packet_field(&t, i, PB_TRACE_PACKET_CLONE_SNAPSHOT_TRIGGER, &f);
	}
	strbuf_printf(&a->said, ", triggers %u\n", triggers);
	peer_packets_free(&t);
}

static struct party *join(const char *name, bool producer, const char *how)
{
	struct party *a = &parties[n_parties++];

	assert(n_parties <= MAX_PARTIES);
	snprintf(a->name, sizeof(a->name), "%s", name);
	a->producer = producer;
	a->exact = !strcmp(how, "exact");
	peer_connect(&a->p, producer ? sock_default_producer() : sock_default_consumer());
	peer_bind(&a->p, producer ? "ProducerPort" : "ConsumerPort");
	assert(peer_next(&a->p));
	if (producer) {
		assert(peer_accepted(&a->p, peer_initialize(&a->p, name, !strcmp(how, "scrape"))));
		if (a->exact) {
			strbuf_printf(&a->said, "  InitializeConnection");
			tell_bytes(&a->said, &a->p.f);
			strbuf_printf(&a->said, "\n");
		}
		a->stream = call(a, P_GET_ASYNC, NULL);
	}
	return a;
}

static void do_line(struct party *a, char **words, size_t n, const char *rest)
{
	if (!strcmp(words[0], "config"))
		do_config(a, C_ENABLE, rest);
	else if (!strcmp(words[0], "source"))
		do_source(a, words[1]);
	else if (!strcmp(words[0], "change"))
		do_config(a, C_CHANGE_CONFIG, rest);
	else if (!strcmp(words[0], "register"))
		do_register(a, words, n);
	else if (!strcmp(words[0], "put"))
		do_put(a, words, n);
	else if (!strcmp(words[0], "ack"))
		do_ack(a);
	else if (!strcmp(words[0], "read"))
		do_read(a);
	else if (!strcmp(words[0], "close"))
		peer_close(&a->p), a->closed = true;
	else if (!strcmp(words[0], "until"))
		do_until(a, words[1]);
	else
		do_call(a, words, n);
}

static void run_line(char *line)
{
	char *words[MAX_WORDS], *save, *rest = line;
	struct party *a = NULL;
	size_t n = 0;

	rest = strchr(line, ' ');
	rest = rest ? strchr(rest + 1, ' ') : NULL;
	rest = rest ? strdup(rest) : strdup("");
	assert(rest);
	for (char *w = strtok_r(line, " ", &save); w && n < MAX_WORDS;
	     w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	assert(n >= 2);
	for (size_t i = 0; i < n_parties; i++)
		if (!strcmp(parties[i].name, words[0]))
			a = &parties[i];
	if (a)
		do_line(a, words + 1, n - 1, rest);
	else
		join(words[0], !strcmp(words[1], "producer"), n > 2 ? words[2] : "");
	free(rest);
	for (size_t i = 0; i < 2 * n_parties; i++)
		hear(&parties[i % n_parties]);
}

int main(void)
{
	char line[4096];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0] && line[0] != '#')
			run_line(line);
	}
	for (size_t i = 0; i < n_parties; i++)
		printf("%s hears\n%s", parties[i].name, parties[i].said.s ? parties[i].said.s : "");
	return 0;
}
