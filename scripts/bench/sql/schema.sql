-- What a good team would have: transfers that are found by id and by idempotency key, events that a relay reads in
-- order, and balances that never fall below zero. As few rows and index entries a transfer as these need.

-- Rows this small and this often changed stay on their page only where it has room for new versions.
create table balances (
  account text primary key,
  balance bigint not null check (balance >= 0)
) with (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000);

-- The key of idempotency is kept with what it belongs to. Ids are in order, so that their index grows at one end.
create table transfers (
  id bigint generated always as identity primary key,
  account text not null,
  idempotency_key text not null,
  amount bigint not null,
  fee bigint not null,
  status text not null default 'pending',
  pix_key_type text not null,
  pix_key text not null,
  created_at timestamptz not null default now(),
  unique (account, idempotency_key)
);

-- A relay reads it by its number, and takes out what was told.
create table outbox (
  id bigint generated always as identity primary key,
  transfer bigint not null,
  event text not null
);

insert into balances select 'a' || n, 900000000000 from generate_series(0, 255) n;
insert into balances values ('hot', 900000000000);

-- One transfer: the only statement of a request. The debit comes last, so that the balance's lock is held shortest.
-- Gives the transfer's id, when it was made, and whether this call made it; of one that was there what it was asked
-- for, too.
create function transfer(
  wanted_account text, wanted_key text, wanted_amount bigint, wanted_fee bigint, wanted_type text, wanted_pix text,
  out id bigint, out created_at timestamptz, out is_new boolean, out amount bigint, out pix_key text
) language plpgsql as $$
#variable_conflict use_column
declare
  made bigint;
begin
  insert into transfers (account, idempotency_key, amount, fee, pix_key_type, pix_key)
    values (wanted_account, wanted_key, wanted_amount, wanted_fee, wanted_type, wanted_pix)
    on conflict do nothing
    returning transfers.id into made;
  if made is null then
    is_new := false;
    select t.id, t.created_at, t.amount, t.pix_key into id, created_at, amount, pix_key
      from transfers t where t.account = wanted_account and t.idempotency_key = wanted_key;
    return;
  end if;
  insert into outbox (transfer, event) values (made, 'transfer.pending');
  update balances set balance = balance - wanted_amount - wanted_fee
    where account = wanted_account and balance >= wanted_amount + wanted_fee;
  if not found then
    raise exception 'INSUFFICIENT_BALANCE' using errcode = 'P0422';
  end if;
  id := made;
  created_at := now();
  is_new := true;
end $$;
