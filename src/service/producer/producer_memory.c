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
#include <string.h>

#include "base/core/mem.h"
#include "base/system/shm.h"
#include "config/limits.h"
#include "service/ipc/limits.h"
#include "service/producer/producer_port.h"
#include "wire/smb_layout.h"

struct geometry {
	uint32_t size;
	uint32_t page_size;
};

static const struct geometry default_geometry = {DEFAULT_SMB_BYTES, DEFAULT_SMB_PAGE_BYTES};

static bool is_legal(struct geometry g)
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

/* If size and page size do not match, or the quota refuses the size, both are replaced by the
 * defaults. */
static struct geometry choose_geometry(const struct producer_port *p, struct geometry g)
{
	g.size = MIN(g.size ? g.size : DEFAULT_SMB_BYTES, SMB_MAX_SIZE);
	g.page_size = MIN(g.page_size ? g.page_size : DEFAULT_SMB_PAGE_BYTES, SMB_MAX_PAGE);
	if (!is_legal(g) || quota_check(&p->account, QUOTA_SMB_BYTES, g.size, NULL) < 0)
		return default_geometry;
	return g;
}

static void set_memory(struct producer_port *p, void *addr, struct geometry g)
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
	if (!is_legal(g) || quota_check(&p->account, QUOTA_SMB_BYTES, size, NULL) < 0) {
		shm_unmap(addr, size);
		return false;
	}
	set_memory(p, addr, g);
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
	set_memory(p, addr, g);
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
