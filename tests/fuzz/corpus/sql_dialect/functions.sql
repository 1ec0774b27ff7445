create perfetto function f(x INT, y STRING) returns INT as select $x + length($y);
select f(1, 'a'), f(null, null), f('b', 2);
create or replace perfetto function f(x INT, y STRING) returns DOUBLE as select f($x - 1, $y);
select f(9, 'a');
create perfetto function t(n JOINID(thread.id)) returns table(a LONG, b STRING) as
with recursive i(n) as (select 1 union all select n + 1 from i where n < $n) select n as a, 'x' as b from i;
select * from t(3), t(2); select * from t; select * from t where "$n" = 2;
create perfetto function g(x INT) returns INT delegates to abs; select g(-1);
select create_function('c(a INT)', 'INT', 'select $a'), c(1);
select create_view_function('v(a INT)', 'b INT, c STRING', 'select $a as b, null as c');
select * from v(1)
;
select create_function('bad(a INT)', 'INT', 'select nope'); select bad(1); select create_function('bad(a INT)', 'INT', 'select 3'); select bad(1);
select create_function('self(a INT)', 'INT', 'select create_function(''self(a INT)'', ''INT'', ''select 4'')'); select self(1), self(2);
create or replace perfetto function self(a INT) returns INT as select self($a - 1); create or replace perfetto function self(a INT) returns INT as select nope
