create perfetto macro m(x Expr, y TableOrSubquery) returns Expr as (select $x from $y -- a comment
);
select m!(1, (select 2)), m!(m!(a, (select 1 as a)), (select 3));
create or replace perfetto macro s(x ColumnName) returns Expr as __intrinsic_stringify!($x);
select s!(a b'c), __intrinsic_token_apply!(s, (a, b, c)) __intrinsic_token_apply_prefix!(s, (a));
select 1 __intrinsic_token_apply_and_prefix!(s, (a, b)), __intrinsic_token_apply!(m, (1, 2), ((select 1), (select 2)));
create perfetto macro r(x Expr) returns Expr as r!(r!($x)); select r!(1); select m!(; select "a!(" , [b!(], `c`
