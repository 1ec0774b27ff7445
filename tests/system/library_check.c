/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: library_check TRACE
 *
 * Reads the packets of tests/library/numbers.h. Prints how many there are, how many are missing
 * between others of their writer, and how many the writers say they have dropped. Fails if one is
 * broken, comes twice or out of order, or if packets are missing in a sequence and none tells.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"

#define WRITERS 70000
#define FOR_TESTING 900
#define PRESENT 1 /* DataLossReason, without another one */

static struct {
	uint64_t next;
	uint64_t packets;
} writers[WRITERS];

static bool has_begun[WRITERS]; /* sequences */
static uint64_t packets, missing, bad, marked, dropped;

static void read_numbers(const struct pb_field *m)
{
	uint64_t writer = UINT64_MAX, number = 0;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, m->data, m->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == 2)
			writer = f.u64;
		else if (f.id == 3)
			number = f.u64;
	}
	if (!pb_dec_ok(&d) || writer >= WRITERS || number < writers[writer].next) {
		if (bad++ == 0)
			printf("writer %llu: number %llu, expected %llu or more\n",
			       (unsigned long long)writer, (unsigned long long)number,
			       (unsigned long long)(writer < WRITERS ? writers[writer].next : 0));
		return;
	}
	missing += number - writers[writer].next;
	writers[writer].next = number + 1;
	writers[writer].packets++;
	packets++;
}

static void read_packet(const struct pb_field *m)
{
	struct pb_field f;
	struct pb_dec d;
	uint64_t sequence = 0, loss = 0;
	bool is_first;

	pb_dec_init(&d, m->data, m->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == FOR_TESTING && f.data)
			read_numbers(&f);
		else if (f.id == PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED)
			loss = f.u64;
		else if (f.id == PB_TRACE_PACKET_PACKETS_DROPPED)
			dropped += f.u64;
		else if (f.id == PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID)
			sequence = f.u64;
	}
	bad += !pb_dec_ok(&d) || sequence >= WRITERS;
	is_first = sequence < WRITERS && !has_begun[sequence];
	if (sequence < WRITERS)
		has_begun[sequence] = true;
	/* traced marks the first packet of each sequence, whatever came before it; only the
	 * producer's mark tells a loss there. */
	marked += loss != 0 && !(is_first && loss == PRESENT);
}

int main(int argc, char **argv)
{
	struct pb_field f;
	struct pb_dec d;
	size_t len = 0, cap = 0, n;
	char *data = NULL;
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;

	if (!file)
		return 2;
	do {
		if (array_reserve(&data, &cap, len + 65536, 1) < 0)
			return 2;
		n = fread(data + len, 1, 65536, file);
		len += n;
	} while (n > 0);
	fclose(file);
	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == 1 && f.data)
			read_packet(&f);
	bad += !pb_dec_ok(&d);
	printf("packets %llu missing %llu bad %llu marked %llu dropped %llu\n",
	       (unsigned long long)packets, (unsigned long long)missing, (unsigned long long)bad,
	       (unsigned long long)marked, (unsigned long long)dropped);
	free(data);
	return bad > 0 || (missing > 0 && marked == 0);
}
