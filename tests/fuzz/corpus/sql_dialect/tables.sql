create perfetto table t(a INT, b STRING) as select 1 as a, 'b' as b; create perfetto index i on t(a, b);
create or replace perfetto index i on t(b); drop perfetto index i on t; create or replace perfetto table t as select * from t;
create perfetto view "v ""1"(a LONG) as select a from t; select * from "v ""1";
include perfetto module slices.with_context; include perfetto module sched.*; INCLUDE PERFETTO MODULE ../a;
create view w as select 1; create trigger x after insert on t begin select 1; select 2; end; /* open
