/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A producer that breaks the rules of the memory that it shares, frame by frame against the service
 * on the sockets of the environment: places and states of chunks, the memory itself, and chunks
 * that come another way.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "service_hostile_producer.h"
#include "unit/../unit/rng.h"

static bool places_that_do_not_exist_are_passed_over(void)
{
	static const uint32_t places[][2] = {{64, 0}, {65535, 0}, {UINT32_MAX, 0}, {0, 1},
					     {0, 14}, {0, 16},	  {0, UINT32_MAX}, {63, 0}};
	/* reserved layouts, bit 31, and every state but Complete; chunks that the layout lacks */
	static const uint32_t words[] = {0x6fffffff, 0x7fffffff, 0x0fffffff, 0x10000000,
					 0x10000001, 0x10000002, 0x1ffffffc, 0x2ffffff0};

	CHECK(begin(ONE_BUFFER));
	CHECK(mine.smb.n_pages == 64);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		CHECK(peer_accepted(&p,
				    peer_commit(&p, places[i][0], places[i][1], mine.buffer, 0)));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		smb_page(&mine.smb, 1)->word = words[i];
		for (uint32_t k = 0; k < 14; k++)
			if (smb_word_state(words[i], k) != SMB_COMPLETE ||
			    k >= smb_layout_chunks(smb_word_layout(words[i])))
				CHECK(peer_accepted(&p, peer_commit(&p, 1, k, mine.buffer, 0)));
		CHECK(smb_load_word(&mine.smb, 1) == words[i]);
	}
	CHECK(BUFFER_STAT(CHUNKS_WRITTEN) == 0);
	return end();
}

/* A process of the producer gives the page of the chunk other words all the time. */
static void flip_words(const struct smb *m)
{
	static const uint32_t words[] = {0,	     0x10000003, 0x10000002, 0x20000003,
					 0x5fffffff, 0x70000003, 0x10000001, 0x4000ffff};

	for (uint64_t r = 1;;)
		smb_page(m, 0)->word = words[rng_below(&r, 8)];
}

static bool page_header_that_changes_under_the_service(void)
{
	pid_t child;

	CHECK(begin(ONE_BUFFER));
	child = fork();
	if (child == 0)
		flip_words(&mine.smb);
	for (int i = 0; i < 2000; i++)
		peer_commit(&p, 0, (uint32_t)i % 3, mine.buffer, 0);
	for (uint64_t last = p.last_id; p.f.request_id != last;)
		CHECK(peer_next(&p) && p.f.success);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	/* The page may be lost to the producer; the others are not. */
	peer_write_chunk(&mine.smb, 1, 2, 0, (const char *const[]){"after"}, 1, true);
	CHECK(commit_page(1, mine.buffer) && count_read("after") == 1);
	return end();
}

/* ---- memory that a producer brings ---- */

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

static int make_memory(size_t size, int seals)
{
	int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0)
		return -1;
	return fd;
}

/* Introduces itself with a memory, -1: only says so. *ret_used: the service takes it. */
static bool offer_memory(int fd, uint32_t page_size, bool *ret_used)
{
	struct pb_field f = {0};
	struct pb_mem m;
	uint64_t id;

	/* Descriptors are taken from here on. */
	peer_bind(&p, "ProducerPort");
	CHECK(peer_next(&p) && p.f.success);
	CHECK(pb_mem_init(&m) == 0);
	pb_enc_u64(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_SHARED_MEMORY_PAGE_SIZE_HINT_BYTES,
		   page_size);
	pb_enc_str(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_NAME, "hostile");
	pb_enc_bool(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_PROVIDED_SHMEM, true);
	id = peer_call_as(&p, 1, P_INITIALIZE, false, m.buf, pb_mem_len(&m), fd);
	pb_mem_deinit(&m);
	CHECK(peer_accepted(&p, id));
	peer_field(&p, PB_INITIALIZE_CONNECTION_RESPONSE_USING_SHMEM_PROVIDED_BY_PRODUCER, &f);
	*ret_used = f.u64;
	return true;
}

/* Whatever it brought, a session has a memory to record with; in ours it cannot be shrunk. */
static bool record_after_offer(int fd, uint32_t page_size, bool expect_used)
{
	struct pb_field f;
	bool used;

	memset(&mine, 0, sizeof(mine));
	peer_connect(&p, sock_default_producer());
	peer_connect(&c, sock_default_consumer());
	CHECK(offer_memory(fd, page_size, &used) && used == expect_used);
	/* The rug is pulled. */
	if (fd >= 0)
		CHECK((ftruncate(fd, 0) < 0) || !used);
	stream = peer_call(&p, P_GET_ASYNC, NULL, 0);
	CHECK(peer_accepted(&p, peer_register(&p, "hostile.src", 0)));
	peer_enable(&c, ONE_BUFFER);
	CHECK(peer_command(&p, stream, CMD(SETUP_TRACING), &f));
	if (used) {
		CHECK(p.got_fd < 0);
		mine.smb_size = 65536;
		mine.smb.base = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		CHECK(smb_init(&mine.smb, mine.smb.base, 65536, page_size) == 0);
	} else {
		CHECK(peer_map(&p, &f, &mine));
	}
	CHECK(peer_await_session(&p, stream, true, &mine));
	CHECK(commit_text(1, 0, "in memory") && count_read("in memory") == 1);
	close(fd);
	return end();
}

static bool memory_that_is_not_fit_is_not_used(void)
{
	CHECK(record_after_offer(make_memory(65536, SEALS), 4096, true));
	CHECK(record_after_offer(make_memory(65536, 0), 4096, false));
	CHECK(record_after_offer(make_memory(65536, F_SEAL_SHRINK | F_SEAL_GROW), 4096, false));
	CHECK(record_after_offer(make_memory(65536, F_SEAL_GROW | F_SEAL_SEAL), 4096, false));
	CHECK(record_after_offer(make_memory(0, SEALS), 4096, false));
	CHECK(record_after_offer(make_memory(65536 + 1, SEALS), 4096, false));
	CHECK(record_after_offer(make_memory(65536, SEALS), 0, false));
	CHECK(record_after_offer(make_memory(65536, SEALS), 5000, false));
	CHECK(record_after_offer(make_memory(65536, SEALS), 131072, false));
	CHECK(record_after_offer(make_memory(64u << 20, SEALS), 4096, false));
	CHECK(record_after_offer(make_memory(65536, SEALS | F_SEAL_WRITE), 4096, false));
	CHECK(record_after_offer(open("/dev/zero", O_RDWR | O_CLOEXEC), 4096, false));
	CHECK(record_after_offer(-1, 4096, false));
	return true;
}

/* ---- chunks inside of requests ---- */

static bool inline_chunks_of_every_size(void)
{
	static const size_t sizes[] = {0, 1, 7, 8, 9, 16, 65534, 65535, 65536, 65537, 100000};
	static uint8_t data[100000];

	CHECK(begin(ONE_BUFFER));
	memcpy(data, "\0\0\0\0\1\0\xff\3", 8); /* chunk 0 of writer 1, 1023 packets */
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct pb_mem m;

		CHECK(pb_mem_init(&m) == 0);
		data[0] = (uint8_t)i;
		pb_enc_open(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE);
		pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_TARGET_BUFFER,
			   mine.buffer);
		pb_enc_bytes(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_DATA, data,
			     sizes[i / 2]);
		pb_enc_bool(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_CHUNK_INCOMPLETE, i % 2);
		pb_enc_close(&m.enc);
		CHECK(peer_reply(&p, peer_call_mem(&p, P_COMMIT, &m)));
	}
	CHECK(count_read("anything") == 0);
	return end();
}

int main(void)
{
	static const struct tap_test tests[] = {
		{"places that do not exist are passed over",
		 places_that_do_not_exist_are_passed_over},
		{"a page header that changes under the service",
		 page_header_that_changes_under_the_service},
		{"memory that is not fit is not used", memory_that_is_not_fit_is_not_used},
		{"inline chunks of every size", inline_chunks_of_every_size},
	};

	p.fd = p.got_fd = c.fd = c.got_fd = -1;
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
