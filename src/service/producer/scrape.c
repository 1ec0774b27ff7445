/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commits the chunks of the shared memory that the producer has not committed. The buffer of a
 * chunk is the one that its writer, from the chunk's header, has registered. The producer may
 * change the header meanwhile, so it is read once, and the values are checked.
 */
#include "service/producer/producer_port.h"
#include "service/buffer/trace_buffer.h"
#include "wire/smb.h"

/* The last fragment of an incomplete chunk may be incomplete, and is not read. */
#define MIN_FRAGMENTS_INCOMPLETE 2

/* The buffers to scrape. */
struct scraped {
	bool (*includes)(void *ctx, uint16_t buffer_id); /* NULL: all */
	void *ctx;
};

static bool includes(const struct scraped *s, uint16_t buffer_id)
{
	return !s->includes || s->includes(s->ctx, buffer_id);
}

static void scrape_chunk(const struct scraped *s, const struct producer_port *p,
			 const struct smb_chunk *chunk, bool complete)
{
	struct smb_chunk_header header = smb_header_load(chunk->header);
	struct trace_buffer_writer writer = producer_port_writer(p, header.writer_id);
	uint16_t buffer_id = producer_port_writer_buffer(p, header.writer_id);
	struct trace_buffer *buffer = producer_port_buffer(p, buffer_id);

	if (!complete && header.count < MIN_FRAGMENTS_INCOMPLETE)
		return;
	if (!buffer || !includes(s, buffer_id))
		return;
	trace_buffer_commit(buffer, &writer, &header, chunk->payload, chunk->payload_size,
			    complete);
}

static void scrape_page(const struct scraped *s, const struct producer_port *p, uint32_t page)
{
	uint32_t word = smb_load_word(&p->smb, page), layout = smb_word_layout(word);

	for (uint32_t i = 0; i < smb_layout_chunks(layout); i++) {
		enum smb_state state = smb_word_state(word, i);
		struct smb_chunk chunk;

		if (state == SMB_FREE)
			continue;
		chunk = smb_chunk_at(&p->smb, page, layout, i);
		scrape_chunk(s, p, &chunk, state == SMB_COMPLETE);
	}
}

static bool has_any(const struct scraped *s, const struct producer_port *p)
{
	for (size_t i = 0; i < p->n_grants; i++)
		if (includes(s, p->grants[i].buffer_id))
			return true;
	return false;
}

void producer_port_scrape(const struct producer_port *p, bool (*fn)(void *ctx, uint16_t buffer_id),
			  void *ctx)
{
	const struct scraped s = {.includes = fn, .ctx = ctx};

	if (!p->wants_scraping || !p->smb.base || p->n_writers == 0 || !has_any(&s, p))
		return;
	for (uint32_t page = 0; page < p->smb.n_pages; page++)
		scrape_page(&s, p, page);
}
