/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A custom data source with a counter: the machine's load average, ten times a second, for every
 * session that requests "example.load_average".
 *
 *	cc load_average.c $(pkg-config --cflags --libs sonda) -o load_average
 *	./load_average &
 *	sonda record -c load_average.cfg -o load.pftrace
 *
 * The numbers are those of Perfetto's trace_packet.proto, track_descriptor.proto, track_event.proto.
 */
#include <sonda/sonda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PACKET_TIMESTAMP = 8,
	PACKET_TRACK_EVENT = 11,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,
	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_NAME = 2,
	DESCRIPTOR_COUNTER = 8,
	EVENT_TYPE = 9,
	EVENT_TRACK_UUID = 11,
	EVENT_DOUBLE_COUNTER_VALUE = 44,
	TYPE_COUNTER = 4,
	STATE_CLEARED = 1,
	STATE_NEEDED = 2,
};

#define TRACK 0x10adabe1a9e0000ull

static struct sonda_data_source source = SONDA_DATA_SOURCE_INIT;

static void write_track(struct sonda_writer *w)
{
	struct sonda_packet *p = sonda_packet_begin(w);

	sonda_packet_u64(p, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
	sonda_packet_open(p, PACKET_TRACK_DESCRIPTOR);
	sonda_packet_u64(p, DESCRIPTOR_UUID, TRACK);
	sonda_packet_str(p, DESCRIPTOR_NAME, "load average");
	sonda_packet_open(p, DESCRIPTOR_COUNTER);
	sonda_packet_close(p);
	sonda_packet_close(p);
	sonda_packet_end(w);
}

static void write_value(struct sonda_writer *w, double value)
{
	struct sonda_packet *p = sonda_packet_begin(w);

	sonda_packet_u64(p, PACKET_TIMESTAMP, sonda_now());
	sonda_packet_u64(p, PACKET_SEQUENCE_FLAGS, STATE_NEEDED);
	sonda_packet_open(p, PACKET_TRACK_EVENT);
	sonda_packet_u64(p, EVENT_TYPE, TYPE_COUNTER);
	sonda_packet_u64(p, EVENT_TRACK_UUID, TRACK);
	sonda_packet_double(p, EVENT_DOUBLE_COUNTER_VALUE, value);
	sonda_packet_close(p);
	sonda_packet_end(w);
}

int main(void)
{
	struct sonda_data_source_options options = {0};
	double load;

	options.size = sizeof(options);
	options.name = "example.load_average";
	options.handles_incremental_state_clear = true;
	if (sonda_data_source_register(&source, &options) != 0 || sonda_init(NULL) != 0)
		return EXIT_FAILURE;
	for (;;) {
		SONDA_TRACE(&source, w)
		{
			if (sonda_writer_was_cleared(w))
				write_track(w);
			if (getloadavg(&load, 1) == 1)
				write_value(w, load);
		}
		usleep(100000);
	}
}
