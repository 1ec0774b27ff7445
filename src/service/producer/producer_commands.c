/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands are replies to the producer's call of GetAsyncCommand, a stream that the service never
 * ends. Before this call, commands are dropped, except SetupTracing: it is sent when the call
 * comes, because the shared memory is sent only once.
 */
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "gen/fields.h"
#include "service/producer/producer_port.h"
#include "wire/pb_enc.h"

static void send_command(struct producer_port *p, const struct pb_mem *m, int fd)
{
	if (m->failed) {
		quota_log(p->account.quota, p->account.user, LOG_LEVEL_ERROR,
			  "out of memory for a command to producer %s", p->name);
		return;
	}
	/* If this fails, the connection of the producer has ended. */
	ipc_reply(p->conn, &p->commands, true, m->buf, pb_mem_len(m), fd);
}

static bool begin_command(const struct producer_port *p, struct pb_mem *m, uint32_t command)
{
	if (!p->has_commands || pb_mem_init(m) < 0)
		return false;
	pb_enc_open(&m->enc, command);
	return true;
}

static void end_command(struct producer_port *p, struct pb_mem *m, int fd)
{
	pb_enc_close(&m->enc);
	send_command(p, m, fd);
}

void producer_port_send_setup_tracing(struct producer_port *p)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (p->setup_tracing_sent)
		return;
	p->setup_tracing_due = !p->has_commands;
	if (!begin_command(p, &m, PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_TRACING))
		return;
	if (p->smb_fd >= 0 || p->emulated_page_size)
		pb_enc_u64(&m.enc,
			   PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_TRACING_SHARED_BUFFER_PAGE_SIZE_KB,
			   (p->emulated_page_size ? p->emulated_page_size : p->smb.page_size) /
				   1024);
	end_command(p, &m, p->smb_fd);
	p->setup_tracing_sent = true;
	closep(&p->smb_fd);
}

/* SetupDataSource and StartDataSource have the same fields. */
#define NEW_INSTANCE_ID PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_DATA_SOURCE_NEW_INSTANCE_ID
#define CONFIG PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_DATA_SOURCE_CONFIG
_Static_assert((int)NEW_INSTANCE_ID ==
		       (int)PB_GET_ASYNC_COMMAND_RESPONSE_START_DATA_SOURCE_NEW_INSTANCE_ID,
	       "format");
_Static_assert((int)CONFIG == (int)PB_GET_ASYNC_COMMAND_RESPONSE_START_DATA_SOURCE_CONFIG,
	       "format");

static void send_instance(struct producer_port *p, uint32_t command, uint64_t instance_id,
			  const void *config, size_t len)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (!begin_command(p, &m, command))
		return;
	pb_enc_u64(&m.enc, NEW_INSTANCE_ID, instance_id);
	pb_enc_bytes(&m.enc, CONFIG, config, len);
	end_command(p, &m, -1);
}

void producer_port_send_setup_instance(struct producer_port *p, uint64_t instance_id,
				       const void *config, size_t len)
{
	send_instance(p, PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_DATA_SOURCE, instance_id, config, len);
}

void producer_port_send_start(struct producer_port *p, uint64_t instance_id, const void *config,
			      size_t len)
{
	send_instance(p, PB_GET_ASYNC_COMMAND_RESPONSE_START_DATA_SOURCE, instance_id, config, len);
}

void producer_port_send_stop(struct producer_port *p, uint64_t instance_id)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (!begin_command(p, &m, PB_GET_ASYNC_COMMAND_RESPONSE_STOP_DATA_SOURCE))
		return;
	pb_enc_u64(&m.enc, PB_GET_ASYNC_COMMAND_RESPONSE_STOP_DATA_SOURCE_INSTANCE_ID, instance_id);
	end_command(p, &m, -1);
}

/* proto2: the field is not packed. */
static void put_ids(struct pb_enc *e, uint32_t field, const uint64_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pb_enc_u64(e, field, ids[i]);
}

void producer_port_send_flush(struct producer_port *p, const uint64_t *instance_ids, size_t n,
			      uint64_t flush_id, uint64_t flags)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (!begin_command(p, &m, PB_GET_ASYNC_COMMAND_RESPONSE_FLUSH))
		return;
	put_ids(&m.enc, PB_GET_ASYNC_COMMAND_RESPONSE_FLUSH_DATA_SOURCE_IDS, instance_ids, n);
	pb_enc_u64(&m.enc, PB_GET_ASYNC_COMMAND_RESPONSE_FLUSH_REQUEST_ID, flush_id);
	pb_enc_u64(&m.enc, PB_GET_ASYNC_COMMAND_RESPONSE_FLUSH_FLAGS, flags);
	end_command(p, &m, -1);
}

void producer_port_send_clear_incremental_state(struct producer_port *p,
						const uint64_t *instance_ids, size_t n)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (!begin_command(p, &m, PB_GET_ASYNC_COMMAND_RESPONSE_CLEAR_INCREMENTAL_STATE))
		return;
	put_ids(&m.enc, PB_GET_ASYNC_COMMAND_RESPONSE_CLEAR_INCREMENTAL_STATE_DATA_SOURCE_IDS,
		instance_ids, n);
	end_command(p, &m, -1);
}
