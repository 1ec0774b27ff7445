/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A producer has one shared memory for the life of its connection. It may pass one with
 * InitializeConnection. Otherwise the service creates it for the first session that uses the
 * producer; its size is that of the session's config, else the producer's hint, else the default.
 * All later sessions depend on that size, so only root's config may make it smaller than the hint,
 * and configs of users other than the producer's are ignored.
 *
 * A remote producer has no shared memory: it sends its chunks. The service sends it the page size.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/shm.h"
#include "config/limits.h"
#include "service/buffer/trace_buffer.h"
#include "service/producer/producer_port.h"
#include "wire/smb_layout.h"

struct geometry {
	uint32_t size;
	uint32_t page_size;
};

static const struct geometry default_geometry = {DEFAULT_SMB_BYTES, DEFAULT_SMB_PAGE_BYTES};

static bool geometry_is_legal(struct geometry g)
{
	struct smb m;

	return smb_init(&m, NULL, g.size, g.page_size) == 0;
}

static uint32_t bytes_of_kb(uint32_t kb)
{
	return kb > UINT32_MAX / 1024 ? UINT32_MAX : kb * 1024;
}

static const Pb__TraceConfig__ProducerConfig *producer_memory_config_of(
	const Pb__TraceConfig *config, const char *name)
{
	for (size_t i = 0; i < config->n_producers; i++)
		if (config->producers[i]->producer_name &&
		    !strcmp(config->producers[i]->producer_name, name))
			return config->producers[i];
	return NULL;
}

/* Returns the hints as changed by the config of a consumer of this user. */
static struct geometry requested_geometry(const struct producer_port *p,
					  const Pb__TraceConfig *config, uid_t uid)
{
	const Pb__TraceConfig__ProducerConfig *c = producer_memory_config_of(config, p->name);
	bool is_root = quota_is_root(p->account.quota, uid);
	struct geometry g = {p->size_hint, p->page_size_hint};

	if (!c || (!is_root && (p->peer->is_remote || p->peer->uid != uid)))
		return g;
	if (c->shm_size_kb && (is_root || bytes_of_kb(c->shm_size_kb) > g.size))
		g.size = bytes_of_kb(c->shm_size_kb);
	if (c->page_size_kb && (is_root || bytes_of_kb(c->page_size_kb) > g.page_size))
		g.page_size = bytes_of_kb(c->page_size_kb);
	return g;
}

/* Returns the geometry with defaults for missing values, and within the limits. If size and page
 * size do not match, or the quota refuses the size, both are the defaults. */
static struct geometry choose_geometry(const struct producer_port *p, struct geometry g)
{
	g.size = MIN(g.size ? g.size : DEFAULT_SMB_BYTES, SMB_MAX_SIZE);
	g.page_size = MIN(g.page_size ? g.page_size : DEFAULT_SMB_PAGE_BYTES, SMB_MAX_PAGE);
	if (!geometry_is_legal(g) || quota_check(&p->account, QUOTA_SMB_BYTES, g.size, NULL) < 0)
		return default_geometry;
	return g;
}

static void use_producer_memory(struct producer_port *p, void *addr, struct geometry g)
{
	smb_init(&p->smb, addr, g.size, g.page_size);
	p->smb_size = g.size;
	quota_charge_unchecked(&p->account, QUOTA_SMB_BYTES, g.size);
}

bool producer_memory_adopt(struct producer_port *p, int fd)
{
	struct geometry g = {.page_size = p->page_size_hint};
	void *addr;
	size_t size;

	if (shm_attach(fd, SMB_MAX_SIZE, &addr, &size) < 0)
		return false;
	g.size = (uint32_t)size;
	if (!geometry_is_legal(g) || quota_check(&p->account, QUOTA_SMB_BYTES, size, NULL) < 0) {
		shm_unmap(addr, size);
		return false;
	}
	use_producer_memory(p, addr, g);
	return true;
}

bool producer_memory_is_ready(const struct producer_port *p)
{
	return p->smb.base || p->emulated_page_size;
}

int producer_memory_ensure(struct producer_port *p, const Pb__TraceConfig *config, uid_t uid)
{
	struct geometry g;
	void *addr;
	int fd, r;

	if (producer_memory_is_ready(p))
		return 0;
	g = choose_geometry(p, requested_geometry(p, config, uid));
	if (p->peer->is_remote) {
		p->emulated_page_size = g.page_size;
		return 0;
	}
	r = quota_check(&p->account, QUOTA_SMB_BYTES, g.size, NULL);
	if (r == 0)
		r = shm_create(g.size, &fd, &addr);
	if (r < 0)
		return r;
	use_producer_memory(p, addr, g);
	p->smb_fd = fd;
	return 0;
}

void producer_memory_deinit(struct producer_port *p)
{
	closep(&p->smb_fd);
	if (!p->smb.base)
		return;
	shm_unmap(p->smb.base, p->smb_size);
	quota_release(&p->account, QUOTA_SMB_BYTES, p->smb_size);
	p->smb.base = NULL;
}

/*
 * The buffers that a producer may write to, and its writers. A registered writer has one buffer, to
 * which all its chunks go, including scraped ones.
 */

/* ---- grants ---- */

int producer_buffers_grant(struct producer_port *p, uint16_t buffer_id, struct trace_buffer *buffer)
{
	if (producer_buffers_find(p, buffer_id))
		return 0;
	if (array_reserve(&p->grants, &p->grants_cap, p->n_grants + 1, sizeof(*p->grants)) < 0)
		return -ENOMEM;
	p->grants[p->n_grants++] = (struct buffer_grant){.buffer_id = buffer_id, .buffer = buffer};
	return 0;
}

void producer_buffers_replace_granted(struct producer_port *p, uint16_t buffer_id,
				      struct trace_buffer *buffer)
{
	for (size_t i = 0; i < p->n_grants; i++)
		if (p->grants[i].buffer_id == buffer_id)
			p->grants[i].buffer = buffer;
}

void producer_buffers_revoke(struct producer_port *p, uint16_t buffer_id)
{
	for (size_t i = 0; i < p->n_grants; i++)
		if (p->grants[i].buffer_id == buffer_id) {
			p->grants[i] = p->grants[--p->n_grants];
			return;
		}
}

struct trace_buffer *producer_buffers_find(const struct producer_port *p, uint32_t buffer_id)
{
	for (size_t i = 0; i < p->n_grants; i++)
		if (p->grants[i].buffer_id == buffer_id)
			return p->grants[i].buffer;
	return NULL;
}

/* ---- writers ---- */

int producer_buffers_add_writer(struct producer_port *p, uint16_t writer_id, uint16_t buffer_id)
{
	size_t n = p->n_writers ? p->n_writers : 16;

	if (writer_id >= p->n_writers) {
		uint16_t *grown;
		int r;

		while (n <= writer_id)
			n *= 2;
		r = quota_charge(&p->account, QUOTA_WRITERS, n - p->n_writers, NULL);
		if (r < 0)
			return r;
		grown = realloc(p->writer_buffers, n * sizeof(*grown));
		if (!grown) {
			quota_release(&p->account, QUOTA_WRITERS, n - p->n_writers);
			return -ENOMEM;
		}
		memset(grown + p->n_writers, 0, (n - p->n_writers) * sizeof(*grown));
		p->writer_buffers = grown;
		p->n_writers = n;
	}
	p->writer_buffers[writer_id] = buffer_id;
	return 0;
}

uint16_t producer_buffers_registered_id(const struct producer_port *p, uint16_t writer_id)
{
	return writer_id < p->n_writers ? p->writer_buffers[writer_id] : 0;
}

void producer_buffers_end_writer(struct producer_port *p, uint16_t writer_id)
{
	struct trace_buffer *b = producer_buffers_find(p, p->writer_buffers[writer_id]);

	if (b)
		trace_buffer_end_writer(b, p->id, writer_id);
	p->writer_buffers[writer_id] = 0;
}

struct trace_buffer_writer producer_buffers_identity(const struct producer_port *p,
						     uint16_t writer_id)
{
	return (struct trace_buffer_writer){.producer_id = p->id,
					    .writer_id = writer_id,
					    .uid = p->peer->uid,
					    .pid = p->peer->pid,
					    .machine_id = p->peer->machine_id};
}

void producer_buffers_deinit(struct producer_port *p)
{
	free(p->grants);
	free(p->writer_buffers);
}
