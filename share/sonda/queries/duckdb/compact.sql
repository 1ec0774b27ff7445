-- SPDX-License-Identifier: Apache-2.0
-- Merges the files of a table and a day into one, sorted by machine and time: queries of a day then open one file instead of
-- one for each trace. The table has a column id, as most have. Run it once the day is over; the small files stay.
--
--	SET VARIABLE store = 's3://traces/prod';	-- what sonda ship was given; or a folder
--	SET VARIABLE day = '2026-11-27';
--	SET VARIABLE name = 'sched';
--	SET VARIABLE merged = 's3://traces/prod/v1c/sched/2026-11-27.parquet';
COPY (
  SELECT *
  FROM read_parquet(getvariable('store') || '/v1/' || getvariable('name') || '/date=' || getvariable('day') || '/machine=*/*.parquet',
      hive_partitioning = true, union_by_name = true)
  ORDER BY machine, trace_uuid, id
) TO (getvariable('merged')) (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 131072);
