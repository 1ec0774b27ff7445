/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "unit/service/buffer_script.h"

/* What is missing, and what the next packet says of it. */

/* ---- nothing is missing ---- */

SCRIPT(the_first_packet_tells_of_no_loss, 64 << 10,
       /* A sequence may begin at any id: the service may have come later than the writer. */
       "put 1.1#77 'first'\n"
       "read 1.1 'first'")

SCRIPT(a_loss_is_told_once, 64 << 10,
       "put 1.1#0 'zero' 1.1#2 'two a' 'two b' 1.1#3 'three'\n"
       "read 1.1 'zero' 1.1 'two a' -gap 1.1 'two b' 1.1 'three'")

/* ---- gaps ---- */

SCRIPT(a_gap_within_a_pass, 64 << 10,
       "put 1.1#0 'zero' 1.1#1 'one' 1.1#9 'nine' 1.1#11 'eleven' 1.2#0 'other'\n"
       "read 1.1 'zero' 1.1 'one' 1.1 'nine' -gap 1.1 'eleven' -gap 1.2 'other' end")

SCRIPT(a_gap_between_passes, 64 << 10,
       "put 1.1#0 'zero'\n"
       "read 1.1 'zero' end\n"
       "put 1.1#2 'two'\n"
       "read 1.1 'two' -gap\n"
       "put 1.1#1 'one, too late' 1.1#3 'three'\n"
       "read 1.1 'three' end\n"
       "count chunks_discarded 1")

SCRIPT(a_gap_at_the_end_of_ids, 64 << 10,
       "put 1.1#-2 'before' 1.1#0 'after'\n"
       "read 1.1 'before' 1.1 'after' -gap")

SCRIPT(a_gap_filled_in_time_is_none, 64 << 10,
       "put 1.1#0 'zero' 1.1#2! 'two'\n"
       "read 1.1 'zero' end\n"
       "put 1.1#1 'one'\n"
       "patch 1.1#2\n"
       "read 1.1 'one' 1.1 'two' end")

SCRIPT(an_empty_chunk_after_a_gap_passes_the_loss_on, 64 << 10,
       "put 1.1#0 'zero' 1.1#2 1.1#3 'three'\n"
       "read 1.1 'zero' 1.1 'three' -gap")

SCRIPT(losses_are_of_one_sequence, 64 << 10,
       "put 1.1#0 '1 zero' 1.2#0 '2 zero' 2.1#0 '3 zero' 1.1#2 '1 two' 1.2#1 '2 one'\n"
       "put 2.1#1 '3 one'\n"
       "read 1.1 '1 zero' 1.2 '2 zero' 2.1 '3 zero' 1.1 '1 two' -gap 1.2 '2 one'\n"
       "next 2.1 '3 one'")

/* ---- broken packets ---- */

SCRIPT(an_end_without_a_start, 64 << 10,
       "put 1.1#5< 'end of what?' 'whole'\n"
       "read 1.1 'whole' -orphan end")

SCRIPT(a_middle_without_a_start, 64 << 10,
       "put 1.1#5<> 'middle' 1.1#6<> 'middle' 1.1#7< 'end' 'whole'\n"
       "read 1.1 'whole' -orphan end")

SCRIPT(a_chunk_is_missing_inside_of_a_packet, 64 << 10,
       "put 1.1#0> 'start' 1.1#2<> 'middle' 1.1#3< 'end' 'whole'\n"
       "read 1.1 'whole' -reassembly_gap -gap -orphan end\n"
       "count readaheads_failed 1 bytes_in_use 0")

SCRIPT(the_next_chunk_does_not_go_on, 64 << 10,
       "put 1.1#0> 'whole' 'start' 1.1#1 'something else'\n"
       "read 1.1 'whole' 1.1 'something else' -broken_chain end\n"
       "count readaheads_failed 1")

SCRIPT(the_chain_breaks_after_some_chunks, 64 << 10,
       "put 1.1#0> 'start' 1.1#1<> 'middle' 1.1#2 1.1#3> 'new ' 1.1#4< 'start'\n"
       "read 1.1 'new start' -broken_chain end\n"
       "count bytes_in_use 0")

SCRIPT(a_writer_drops_its_packet, 64 << 10,
       "put 1.1#0 'whole' drop raw 'half a pack' 1.1#1 'next'\n"
       "read 1.1 'whole' 1.1 'next' -abort end\n"
       "count trace_writer_packet_loss 1 abi_violations 0")

SCRIPT(a_writer_drops_a_packet_that_began_before, 64 << 10,
       "put 1.1#0> 'start' 1.1#1< drop 1.1#2 'next'\n"
       "read 1.1 'next' -abort -broken_chain end")

SCRIPT(nothing_is_joined_over_a_dropped_packet, 64 << 10,
       "put 1.1#0> 'start' 1.1#1< drop 1.1#2< 'not its end' 'next'\n"
       "read 1.1 'next' -abort -broken_chain -orphan end")

SCRIPT(a_chunk_breaks_the_format, 64 << 10,
       "put 1.1#0 'whole' raw %7f73686f7274 /2 1.1#1 'next'\n"
       "read 1.1 'whole' 1.1 'next' -corrupted end\n"
       "count abi_violations 1 trace_writer_packet_loss 0")

/* ---- overwriting: records of 1024 bytes in a ring of 4096 ---- */

enum { KB = 1024 - 16 - 4 };

SCRIPT(overwritten_chunks, 4096,
       "put 1.1#0 a*1004 1.1#1 b*1004 1.1#2 c*1004 1.1#3 d*1004 1.1#4 e*1004\n"
       "put 1.1#5 f*1004 1.1#6 g*1004\n"
       "count bytes_written 7168 chunks_overwritten 3 bytes_overwritten 3072\n"
       "count bytes_in_use 4096\n"
       "read 1.1 d*1004 -overwrite 1.1 e*1004 1.1 f*1004 1.1 g*1004 end\n"
       "count chunks_read 4")

IN_4K(what_was_read_is_not_overwritten)
{
	commit_fill(b, 1, 0, 'x', KB);
	for (uint32_t i = 1; i < 40; i++) {
		commit_fill(b, 1, i, 'x', KB); /* there is always one that is unread */
		trace_buffer_begin_read(b);
		expect_fill(b, 1, 'x', KB, 0);
	}
	assert_int_equal(trace_buffer_stats(b)->chunks_overwritten, 0);
	assert_int_equal(trace_buffer_stats(b)->bytes_overwritten, 0);
	assert_int_equal(trace_buffer_stats(b)->write_wrap_count, 10);
}

SCRIPT(a_chunk_that_is_half_read_is_overwritten, 4096,
       "put 1.1#0 'a' 'b' c*990\n"
       "read 1.1 'a'\n"
       "put 1.1#1 b*1004 1.1#2 c*1004 1.1#3 d*1004 1.1#4 e*1004\n"
       "count chunks_overwritten 1 bytes_overwritten 1024 chunks_read 0\n"
       "next 1.1 b*1004 -overwrite 1.1 c*1004 1.1 d*1004 1.1 e*1004 end\n"
       "count bytes_in_use 0")

SCRIPT(an_empty_chunk_is_overwritten_without_loss, 4096,
       "put 1.2#0 1.1#0 a*1004 1.1#1 a*1004 1.1#2 a*1004 1.1#3 a*1004 1.1#4 a*1004\n"
       "put 1.2#1 'two'\n"
       "read 1.1 a*1004 -overwrite 1.1 a*1004 1.2 'two' end")

SCRIPT(the_start_of_a_packet_is_overwritten, 4096,
       "put 1.1#0> a*1004 1.1#1< 'end' b*900 1.1#2 c*1004 1.1#3 c*1004 1.1#4 c*1004\n"
       "read 1.1 b*900 -overwrite -orphan 1.1 c*1004 1.1 c*1004 1.1 c*1004 end")

SCRIPT(overwriting_frees_a_sequence_that_waits, 4096,
       "put 1.1#0! a*1004 1.1#1 b*1004 1.2#0 x*1004\n"
       "read 1.2 x*1004 end\n"
       "put 1.2#1 y*1004 1.2#2 z*1004\n"
       "read 1.1 b*1004 -overwrite 1.2 y*1004 1.2 z*1004 end")

/* Chunk 0 came after 1, and lies behind it: when the place of 1 is needed, both go. */
SCRIPT(overwriting_goes_in_the_order_of_ids, 4096,
       "put 1.1#1 b*1004 1.1#0 a*1004 1.1#2 c*1004 1.1#3 d*1004 1.2#0 x*1004\n"
       "count chunks_overwritten 2 bytes_overwritten 2048\n"
       "put 1.2#1 y*1004\n"
       "count chunks_overwritten 2\n"
       "read 1.1 c*1004 -overwrite 1.1 d*1004 1.2 x*1004 1.2 y*1004 end\n"
       "count bytes_in_use 0")

SCRIPT(a_late_chunk_whose_successor_must_go_for_it, 4096,
       "put 1.1#5 f*1004 1.2#0 x*1004 1.2#1 y*1004 1.2#2 z*1004 1.1#4 e*1004\n"
       "count chunks_overwritten 1 chunks_discarded 1\n"
       "read 1.2 x*1004 1.2 y*1004 1.2 z*1004 end\n"
       "put 1.1#6 g*1004\n"
       "read 1.1 g*1004 -overwrite")

SCRIPT(losses_pile_up, 4096,
       "put 1.1#0 a*1004 1.2#0 x*1004 1.2#1 x*1004 1.2#2 x*1004 1.2#3 x*1004\n"
       "put 1.1#2< 'end' drop 1.1#3 'then'\n"
       "read 1.2 x*1004 -overwrite\n"
       "read 1.2 x*1004\n"
       "read 1.2 x*1004 1.1 'then' -overwrite -gap -orphan -abort")
