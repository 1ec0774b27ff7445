/* SPDX-License-Identifier: Apache-2.0 */

#include <pthread.h>

#include "base/core/fnv.h"
#include "base/core/siphash.h"
#include "unit/test.h"

/* What siphash_keyed() gives in a process of its own. */
static uint64_t keyed_elsewhere(void)
{
	uint64_t h = 0;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	if (fork() == 0) {
		h = siphash_keyed("a", 1);
		_exit(write(fds[1], &h, sizeof(h)) != sizeof(h));
	}
	assert_int_equal(read(fds[0], &h, sizeof(h)), sizeof(h));
	wait(NULL);
	close(fds[0]);
	close(fds[1]);
	return h;
}

/* The first test: later ones make the key of this process, which its children share. */
TEST(every_process_has_another_key)
{
	assert_true(keyed_elsewhere() != keyed_elsewhere());
}

#define THREADS 4

static void *hash_after_others_are_there(void *barrier)
{
	uint64_t *ret = malloc(sizeof(*ret));

	pthread_barrier_wait(barrier);
	*ret = siphash_keyed("a", 1);
	return ret;
}

/* Exit code: whether all threads had the same key at their first calls. */
static int hash_in_threads(void)
{
	pthread_barrier_t barrier;
	pthread_t threads[THREADS];
	uint64_t expected;
	void *hash;
	bool same = true;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, hash_after_others_are_there, &barrier);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &hash);
		if (i == 0)
			expected = *(uint64_t *)hash;
		same &= *(uint64_t *)hash == expected;
		free(hash);
	}
	return !same || siphash_keyed("a", 1) != expected;
}

TEST(threads_that_begin_at_once_share_the_key)
{
	for (int i = 0; i < 500; i++) {
		pid_t pid = fork();
		int status = -1;

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(hash_in_threads());
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

/* As CPython 3.11 has them: PYTHONHASHSEED=0 python3 -c 'print(hash(b"a"))' is SipHash-1-3 with a
 * key of zeros. */
TEST(known_answers)
{
	const struct siphash_key zero = {0, 0};
	uint8_t bytes[64];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	assert_true(siphash(&zero, "a", 1) == 0x407448d2b89b1813);
	assert_true(siphash(&zero, "1234567", 7) == 0xa33d651594fdae81);
	assert_true(siphash(&zero, "12345678", 8) == 0x3489982430560a87);
	assert_true(siphash(&zero, bytes, 15) == 0xf30eb725bb91c9ea);
	assert_true(siphash(&zero, bytes, 64) == 0x75e05fd5bbc870c6);
}

TEST(key_changes_the_hash)
{
	const struct siphash_key a = {1, 0}, b = {0, 1};

	assert_true(siphash(&a, "a", 1) != siphash(&b, "a", 1));
	assert_true(siphash_keyed("a", 1) == siphash_keyed("a", 1));
	assert_true(siphash_keyed("a", 1) != siphash_keyed("b", 1));
}

TEST(fnv1a_of_known_texts)
{
	assert_true(fnv1a(FNV1A_START, "", 0) == FNV1A_START);
	assert_true(fnv1a(FNV1A_START, "a", 1) == 0xaf63dc4c8601ec8c);
	assert_true(fnv1a(fnv1a(FNV1A_START, "foo", 3), "bar", 3) == 0x85944171f73967e8);
}
