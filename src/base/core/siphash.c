/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/siphash.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "base/core/clock.h"

struct state {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate_left(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

static inline void sip_round(struct state *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rotate_left(s->v1, 13) ^ s->v0;
	s->v3 = rotate_left(s->v3, 16) ^ s->v2;
	s->v0 = rotate_left(s->v0, 32);
	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = rotate_left(s->v1, 17) ^ s->v2;
	s->v3 = rotate_left(s->v3, 21) ^ s->v0;
	s->v2 = rotate_left(s->v2, 32);
}

static inline void siphash_add_word(struct state *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

uint64_t siphash(const struct siphash_key *key, const void *data, size_t len)
{
	struct state s = {key->k0 ^ 0x736f6d6570736575u, key->k1 ^ 0x646f72616e646f6du,
			  key->k0 ^ 0x6c7967656e657261u, key->k1 ^ 0x7465646279746573u};
	const uint8_t *p = data, *end = p + len / 8 * 8;
	uint64_t word, last = 0;

	for (; p < end; p += 8) {
		memcpy(&word, p, sizeof(word));
		siphash_add_word(&s, le64toh(word));
	}
	if (len % 8)
		memcpy(&last, p, len % 8);
	siphash_add_word(&s, le64toh(last) | (uint64_t)len << 56);
	s.v2 ^= 0xff;
	sip_round(&s);
	sip_round(&s);
	sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

static struct siphash_key process_key;

static void make_process_key(void)
{
	/* Without random numbers (a kernel that has just started) a time is better than a
	 * constant. */
	if (getrandom(&process_key, sizeof(process_key), GRND_NONBLOCK) != sizeof(process_key))
		process_key = (struct siphash_key){clock_mono_ns(), (uintptr_t)&process_key};
}

uint64_t siphash_keyed(const void *data, size_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	/* Threads of a program with libsonda may make the first call at the same time. */
	pthread_once(&once, make_process_key);
	return siphash(&process_key, data, len);
}
