/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/trace_config.pb-c.h"
#include "service/output/out_file.h"

struct compressor;

/* One file of a session: compressed if the config says so, on its way to the disk. */
struct file_part {
	struct out_file out;
	struct compressor *compressor; /* owned; NULL: packets go out as they are */
	uint32_t number; /* in a rotation */
	uint32_t
		n_homes; /* sequences whose packets need what is in it (service/output/file_rotation.h) */
	bool has_data; /* of producers */
};

/* Takes the descriptor, also on failure. 0 or -ENOMEM. */
int file_part_init(struct file_part *p, const Pb__TraceConfig *config, int fd, uint32_t number);
/* Drops what was not written, and closes. Fine twice. */
void file_part_deinit(struct file_part *p);

/* Where packets go in, until the next call on the part. */
struct packet_sink *file_part_sink(struct file_part *p);
/* Is the file, with a packet of so many bytes more, surely no larger than max? */
bool file_part_has_room(struct file_part *p, size_t packet_size, uint64_t max);
/* What was gathered for compression goes on its way. */
void file_part_end_group(struct file_part *p);
