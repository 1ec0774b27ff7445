/* SPDX-License-Identifier: Apache-2.0 */
/* The arbiter without shared memory: chunks go with the requests. */

#include "client/transport/arbiter.h"
#include "common/commit_data_request.pb-c.h"
#include "service/ipc/msgsock.h"
#include "unit/fixture.h"
#include "wire/frame.h"
#include "wire/smb.h"

#define MAX_SENT 64

static struct {
	struct arbiter *a;
	Pb__CommitDataRequest *sent[MAX_SENT];
	size_t n, largest;
	bool choked, opens_on_drain, due;
	int result; /* of a commit */
	uint32_t next_chunk;
} t;

static int on_commit(void *ctx, const void *request, size_t len)
{
	assert_true(t.n < MAX_SENT);
	t.largest = len > t.largest ? len : t.largest;
	t.sent[t.n] = pb__commit_data_request__unpack(NULL, len, request);
	assert_non_null(t.sent[t.n++]);
	return t.result;
}

static bool is_choked(void *ctx)
{
	return t.choked;
}

static int on_drain(void *ctx, int timeout_ms)
{
	if (t.opens_on_drain)
		t.choked = false;
	return t.choked ? -EAGAIN : 0;
}

static void on_writer(void *ctx, uint16_t writer_id, uint16_t target_buffer)
{
}

static void on_no_writer(void *ctx, uint16_t writer_id)
{
}

static void on_schedule(void *ctx, bool urgent)
{
	t.due = !urgent || !arbiter_commit_due(t.a);
}

static const struct arbiter_ops ops = {
	.schedule = on_schedule,
	.commit = on_commit,
	.is_choked = is_choked,
	.drain = on_drain,
	.writer_added = on_writer,
	.writer_removed = on_no_writer,
};

SETUP
{
	struct arbiter_options o = {.ops = &ops, .stall_ms = 20};

	memset(&t, 0, sizeof(t));
	assert_int_equal(arbiter_new(&o, &t.a), 0);
}

TEARDOWN
{
	for (size_t i = 0; i < t.n; i++)
		pb__commit_data_request__free_unpacked(t.sent[i], NULL);
	arbiter_free(t.a);
}

static bool take(struct smb_chunk *c, bool may_wait)
{
	const struct smb_chunk_header h = {.writer_id = 3, .chunk_id = t.next_chunk};

	if (!arbiter_acquire_chunk(t.a, &h, may_wait ? ARBITER_STALL : 0, c))
		return false;
	t.next_chunk++;
	memset(c->payload, 'x', c->payload_size);
	return true;
}

static void give(const struct smb_chunk *c, uint8_t flags)
{
	struct smb_chunk_header h = smb_header_load(c->header);

	h.count = 1;
	h.flags = flags;
	smb_header_store_packets(c->header, 1, flags);
	arbiter_release_chunk(t.a, c, &h, 5);
}

static void turn(void)
{
	if (t.due)
		t.due = !arbiter_commit_due(t.a);
}

FIXTURE_TEST(memory_is_attached_once_and_by_the_rules)
{
	struct smb_chunk c;

	assert_int_equal(arbiter_attach_private(t.a, 0), -EINVAL);
	assert_int_equal(arbiter_attach_private(t.a, 5000), -EINVAL);
	assert_int_equal(arbiter_attach_private(t.a, 65536), -EINVAL);
	assert_false(take(&c, false));
	assert_int_equal(arbiter_attach_private(t.a, 4096), 0);
	assert_int_equal(arbiter_attach_private(t.a, 4096), -EALREADY);
	assert_true(take(&c, false));
}

FIXTURE_TEST(chunk_goes_with_its_header_and_is_free_again)
{
	Pb__CommitDataRequest__ChunksToMove *m;
	struct smb_chunk c;

	assert_int_equal(arbiter_attach_private(t.a, 4096), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(take(&c, false));
		give(&c, 0);
		turn();
	}
	assert_int_equal(t.n, 3);
	m = t.sent[2]->chunks_to_move[0];
	assert_false(m->has_page);
	assert_false(m->has_chunk);
	assert_int_equal(m->target_buffer, 5);
	assert_int_equal(m->data.len, 4088);
	/* chunk_id 2, writer_id 3, one packet */
	assert_memory_equal(m->data.data, "\x02\x00\x00\x00\x03\x00\x01\x00xxxx", 12);
	/* All of the memory is there: 256 pages of one chunk. */
	for (int i = 0; i < 256; i++)
		assert_true(take(&c, false));
	assert_false(take(&c, false));
}

FIXTURE_TEST(requests_fit_a_frame)
{
	struct smb_chunk c[32];
	size_t n = 0;

	assert_int_equal(arbiter_attach_private(t.a, 32768), 0);
	t.choked = true; /* so that they gather */
	for (int i = 0; i < 32; i++) {
		assert_true(take(&c[i], false));
		give(&c[i], 0);
	}
	arbiter_commit(t.a);
	for (size_t i = 0; i < t.n; i++)
		n += t.sent[i]->n_chunks_to_move;
	assert_int_equal(n, 32);
	assert_true(t.largest <= ARBITER_MAX_COMMIT);
	assert_true(ARBITER_MAX_COMMIT <= MSGSOCK_MAX_MESSAGE - FRAME_MAX_HEAD);
	assert_int_equal(t.n, 11); /* 3 each */
}

FIXTURE_TEST(after_an_error_nothing_more_is_sent)
{
	struct smb_chunk c;

	assert_int_equal(arbiter_attach_private(t.a, 32768), 0);
	t.choked = true;
	for (int i = 0; i < 32; i++) {
		assert_true(take(&c, false));
		give(&c, 0);
	}
	t.result = -EPIPE;
	arbiter_commit(t.a);
	assert_int_equal(t.n, 1);
}

FIXTURE_TEST(choked_chunks_wait_and_writers_drop)
{
	struct smb_chunk c;

	assert_int_equal(arbiter_attach_private(t.a, 32768), 0);
	t.choked = true;
	for (int i = 0; i < 32; i++) {
		assert_true(take(&c, false));
		give(&c, 0);
	}
	turn();
	assert_false(take(&c, false));
	arbiter_ack_flush(t.a, 7);
	assert_int_equal(t.n, 0);
	turn();
	assert_int_equal(t.n, 0);
	assert_true(t.due); /* so the owner comes back to them */
	t.choked = false;
	turn();
	assert_int_equal(t.sent[t.n - 1]->flush_request_id, 7);
	assert_true(take(&c, false));
}

FIXTURE_TEST(stalling_writer_goes_on_when_the_socket_does)
{
	struct smb_chunk c;

	assert_int_equal(arbiter_attach_private(t.a, 32768), 0);
	t.choked = true;
	for (int i = 0; i < 32; i++) {
		assert_true(take(&c, false));
		give(&c, 0);
	}
	t.opens_on_drain = true;
	assert_true(take(&c, true));
	assert_true(t.n > 0);
}

FIXTURE_TEST(patched_in_place_before_it_is_sent)
{
	struct chunk_patch p = {
		.writer_id = 3, .target_buffer = 5, .offset = 4, .data = {'a', 'b', 'c', 'd'}};
	struct smb_chunk c;

	assert_int_equal(arbiter_attach_private(t.a, 4096), 0);
	arbiter_patch_in_place(t.a, true);
	assert_true(take(&c, false));
	give(&c, SMB_NEEDS_PATCHING);
	arbiter_add_patch(t.a, &p);
	turn();
	assert_int_equal(t.n, 1);
	assert_int_equal(t.sent[0]->n_chunks_to_patch, 0);
	/* No flag is left in the header. */
	assert_memory_equal(t.sent[0]->chunks_to_move[0]->data.data,
			    "\x00\x00\x00\x00\x03\x00\x01\x00xxxxabcdx", 17);
}
