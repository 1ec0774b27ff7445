/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a CommitDataRequest, of a producer whose memory has complete and half-written chunks
 * under every layout; buffers 1 and 2 are its, 3 is another's. What must hold: what protobuf-c
 * reads and writes again is accepted; each complete chunk that it names is free then, and no other
 * has changed; every patch is counted at most once; and the buffers can be read.
 */
#include "common/commit_data_request.pb-c.h"
#include "fuzz_service.h"
#include "service/buffer/trace_buffer.h"
#include "service/trace/trace_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define CONFIG                                                                                     \
	"buffers { size_kb: 16 } buffers { size_kb: 8 fill_policy: DISCARD } "                     \
	"buffers { size_kb: 4 } "                                                                  \
	"producers { producer_name: 'p' shm_size_kb: 32 page_size_kb: 4 } "                        \
	"data_sources { config { name: 'src' } } "                                                 \
	"data_sources { config { name: 'src' target_buffer: 1 } }"

static struct peer producer, consumer; /* large */
static struct peer_session s;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	fuzz_service_begin();
	return 0;
}

/* Three packets of three bytes (tag, length, one byte); the last may go on and need patches. */
static void fill(uint32_t page, uint32_t index, uint32_t n)
{
	static const uint8_t packet[] = {4, 0xa2, 0x38, 1, 'x'};
	struct smb_chunk_header h = {.writer_id = (uint16_t)(1 + n % 3), .chunk_id = n / 3};
	struct smb_chunk c;

	MUST(smb_acquire_free(&s.smb, page, index, &h, &c));
	for (size_t i = 0; i < 3; i++)
		memcpy(c.payload + i * sizeof(packet), packet, sizeof(packet));
	smb_header_store_packets(c.header, 3, n % 5 ? 0 : SMB_CHUNK_FLAGS & (n / 5));
	if (n % 4)
		MUST(smb_release_complete(&s.smb, page, index));
}

static void fill_memory(void)
{
	uint32_t n = 0;

	for (uint32_t layout = SMB_DIV1; layout <= SMB_DIV14; layout++) {
		MUST(smb_partition(&s.smb, layout, layout));
		for (uint32_t i = 0; i < smb_layout_chunks(layout); i++)
			fill(layout, i, ++n);
	}
}

static void begin(void)
{
	struct peer_session second = {0};
	uint64_t stream;

	service->sessions.last_buffer_id = 0; /* so that the input can name them */
	fuzz_plug_in_producer(&producer);
	fuzz_plug_in_consumer(&consumer);
	stream = peer_become_producer(&producer, "p", "src", 0, true);
	peer_enable(&consumer, CONFIG);
	memset(&s, 0, sizeof(s));
	MUST(peer_await_session(&producer, stream, false, &s) && s.buffer == 1);
	second.smb.base = s.smb.base; /* nothing is mapped anew */
	MUST(peer_await_session(&producer, stream, false, &second) && second.buffer == 2);
	fuzz_drain(&producer);
	fill_memory();
}

/* ---- what must hold ---- */

static uint64_t patches_counted(void)
{
	const struct session *session = TAILQ_FIRST(&service->sessions.list);
	uint64_t n = service->producers.patches_discarded;

	for (size_t i = 0; i < session->trace->n_buffers; i++) {
		const struct trace_buffer_stats *st =
			trace_buffer_stats(session->trace->buffers[i].buffer);

		n += st->patches_succeeded + st->patches_failed;
	}
	return n;
}

static bool is_named(const Pb__CommitDataRequest *c, uint32_t page, uint32_t index)
{
	for (size_t i = 0; i < c->n_chunks_to_move; i++)
		if (!c->chunks_to_move[i]->has_data && c->chunks_to_move[i]->page == page &&
		    c->chunks_to_move[i]->chunk == index)
			return true;
	return false;
}

/* words: of the pages, before the request. */
static void check_memory(const Pb__CommitDataRequest *c, const uint32_t *words)
{
	for (uint32_t page = 0; page < s.smb.n_pages; page++) {
		uint32_t layout = smb_word_layout(words[page]);
		uint32_t now = smb_load_word(&s.smb, page);

		for (uint32_t i = 0; i < smb_layout_chunks(layout); i++) {
			enum smb_state state = smb_word_state(words[page], i);

			if (state == SMB_COMPLETE && is_named(c, page, i))
				state = SMB_FREE;
			MUST((now ? smb_word_state(now, i) : SMB_FREE) == state);
		}
	}
}

static void forget_unknown(ProtobufCMessage *m)
{
	for (unsigned i = 0; i < m->n_unknown_fields; i++)
		free(m->unknown_fields[i].data);
	m->n_unknown_fields = 0;
}

/* protobuf-c takes fields that are none, and keeps them as they are. */
static void forget_all_unknown(Pb__CommitDataRequest *c)
{
	forget_unknown(&c->base);
	for (size_t i = 0; i < c->n_chunks_to_move; i++)
		forget_unknown(&c->chunks_to_move[i]->base);
	for (size_t i = 0; i < c->n_chunks_to_patch; i++) {
		forget_unknown(&c->chunks_to_patch[i]->base);
		for (size_t k = 0; k < c->chunks_to_patch[i]->n_patches; k++)
			forget_unknown(&c->chunks_to_patch[i]->patches[k]->base);
	}
}

static void commit_canonical(const Pb__CommitDataRequest *c)
{
	uint64_t patches = patches_counted(), n = 0;
	size_t len = pb__commit_data_request__get_packed_size(c);
	uint8_t *bytes = malloc(len + 1);
	uint32_t words[8];

	MUST(bytes && s.smb.n_pages == 8);
	pb__commit_data_request__pack(c, bytes);
	for (uint32_t page = 0; page < s.smb.n_pages; page++)
		words[page] = smb_load_word(&s.smb, page);
	MUST(peer_accepted(&producer, peer_call(&producer, P_COMMIT, bytes, len)));
	check_memory(c, words);
	for (size_t i = 0; i < c->n_chunks_to_patch; i++)
		n += c->chunks_to_patch[i]->n_patches;
	/* A chunk that is not there counts once more, whatever was for it. */
	MUST(patches_counted() - patches <= n + c->n_chunks_to_patch);
	free(bytes);
}

static void read_all(void)
{
	struct peer_packets t;
	struct pb_field f;

	MUST(peer_read(&consumer, &t));
	for (size_t i = 0; i < t.n; i++)
		MUST(peer_packet_field(&t, i, PB_TRACE_PACKET_TRUSTED_UID, &f) &&
		     f.u64 == getuid());
	peer_packets_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Pb__CommitDataRequest *c;

	if (size > 65536)
		return -1;
	c = pb__commit_data_request__unpack(NULL, size, data);
	if (c)
		forget_all_unknown(c);
	begin();
	for (int i = 0; i < 2; i++) {
		if (c)
			commit_canonical(c);
		MUST(peer_reply(&producer, peer_call(&producer, P_COMMIT, data, size)));
		read_all();
	}
	if (c)
		pb__commit_data_request__free_unpacked(c, NULL);
	peer_unmap(&s);
	peer_close(&producer);
	peer_close(&consumer);
	fuzz_service_must_be_empty();
	return 0;
}
